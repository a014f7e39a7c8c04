#!/usr/bin/env bash
# Publishes the number of busy GPUs to CloudWatch; the role allows the name space of this cluster alone.
set -euo pipefail
exec aws cloudwatch put-metric-data --region "$CLUSTER_REGION" --namespace "gpu-cluster/$CLUSTER_NAME" \
    --metric-name BusyGpus --dimensions "Cluster=$CLUSTER_NAME" --unit Count --value "$1"
