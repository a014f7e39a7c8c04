#!/usr/bin/env bash
# Appends the number of busy GPUs to a file, for trials.
set -euo pipefail
printf '%s\n' "$1" >>"${CLUSTER_METRIC_FILE:-/run/gpu-cluster/busy-gpus}"
