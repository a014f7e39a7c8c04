#!/usr/bin/env bash
# Publishes the number of busy GPUs to CloudWatch; the role allows this one name space only.
set -euo pipefail
exec aws cloudwatch put-metric-data --region "$CLUSTER_REGION" --namespace gpu-cluster --metric-name BusyGpus \
    --dimensions "Cluster=$CLUSTER_NAME" --unit Count --value "$1"
