#!/usr/bin/env bash
# Publishes the number of busy GPUs as a custom metric of this machine's scale set (role Monitoring Metrics Publisher).
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=http.sh
. "$here/http.sh"

metadata="${CLUSTER_METADATA_URL:-http://169.254.169.254}"
identity="${CLUSTER_IDENTITY_CLIENT_ID:+&client_id=$CLUSTER_IDENTITY_CLIENT_ID}"
query="api-version=2018-02-01&resource=https%3A%2F%2Fmonitoring.azure.com%2F$identity"
token="$(http GET "$metadata/metadata/identity/oauth2/token?$query" 'Metadata: true' | json_field access_token)"
machine="$(http GET "$metadata/metadata/instance/compute?api-version=2021-02-01&format=json" 'Metadata: true')"
region="$(json_field location <<<"$machine")"
# /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachineScaleSets/NAME/virtualMachines/0
scale_set="$(json_field resourceId <<<"$machine" | sed 's#/virtualMachines/[^/]*$##')"
http POST "${CLUSTER_METRIC_ENDPOINT:-https://$region.monitoring.azure.com}$scale_set/metrics" \
    "Authorization: Bearer $token" \
    "{\"time\": \"$(date --utc +%FT%TZ)\", \"data\": {\"baseData\": {\"metric\": \"BusyGpus\", \"namespace\": \"gpu-cluster\",
      \"dimNames\": [\"Cluster\"], \"series\": [{\"dimValues\": [\"$CLUSTER_NAME\"],
      \"min\": $1, \"max\": $1, \"sum\": $1, \"count\": 1}]}}}" >/dev/null
