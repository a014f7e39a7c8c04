#!/usr/bin/env bash
# Publishes the number of busy GPUs to Cloud Monitoring (role Monitoring Metric Writer).
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=http.sh
. "$here/http.sh"

flavor='Metadata-Flavor: Google'
metadata="${CLUSTER_METADATA_URL:-http://metadata.google.internal}/computeMetadata/v1"
token="$(http GET "$metadata/instance/service-accounts/default/token" "$flavor" | json_field access_token)"
project="$(http GET "$metadata/project/project-id" "$flavor")"
instance="$(http GET "$metadata/instance/id" "$flavor")"
zone="$(http GET "$metadata/instance/zone" "$flavor")"
http POST "${CLUSTER_METRIC_ENDPOINT:-https://monitoring.googleapis.com}/v3/projects/$project/timeSeries" \
    "Authorization: Bearer $token" \
    "{\"timeSeries\": [{\"metric\": {\"type\": \"custom.googleapis.com/gpu_cluster/busy_gpus\",
      \"labels\": {\"cluster\": \"$CLUSTER_NAME\"}},
      \"resource\": {\"type\": \"gce_instance\", \"labels\": {\"project_id\": \"$project\", \"instance_id\": \"$instance\",
      \"zone\": \"${zone##*/}\"}},
      \"points\": [{\"interval\": {\"endTime\": \"$(date --utc +%FT%TZ)\"}, \"value\": {\"int64Value\": \"$1\"}}]}]}" >/dev/null
