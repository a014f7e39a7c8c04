#!/usr/bin/env bash
# Publishes the number of busy GPUs as a custom metric (role Monitoring Metrics Publisher): of this machine's scale set, or
# in a pod with a workload identity of the resource that the manifest names, with the pool that the node belongs to.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=http.sh
. "$here/http.sh"

# What a workload identity gives for its service account's token (Microsoft, "Workload identity federation").
form() {
    printf 'grant_type=client_credentials&client_id=%s&scope=https%%3A%%2F%%2Fmonitoring.azure.com%%2F.default' "$AZURE_CLIENT_ID"
    printf '&client_assertion_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Aclient-assertion-type%%3Ajwt-bearer'
    printf '&client_assertion=%s' "$(cat "$AZURE_FEDERATED_TOKEN_FILE")"
}

if [ -n "${AZURE_FEDERATED_TOKEN_FILE:-}" ]; then
    # The form goes through a file descriptor as well, since it holds the service account's token.
    grant="$(curl --silent --show-error --fail --max-time 20 --data @<(form) \
        "${AZURE_AUTHORITY_HOST%/}/$AZURE_TENANT_ID/oauth2/v2.0/token")"
    region="$CLUSTER_REGION"
    resource="$CLUSTER_METRIC_RESOURCE"
    # Nodes of AKS are named aks-POOL-NUMBER-vmssNNNNNN.
    pool="${CLUSTER_NODE#aks-}"
    names='"Cluster", "Pool"' values="\"$CLUSTER_NAME\", \"${pool%%-*}\""
else
    metadata="${CLUSTER_METADATA_URL:-http://169.254.169.254}"
    identity="${CLUSTER_IDENTITY_CLIENT_ID:+&client_id=$CLUSTER_IDENTITY_CLIENT_ID}"
    query="api-version=2018-02-01&resource=https%3A%2F%2Fmonitoring.azure.com%2F$identity"
    grant="$(http GET "$metadata/metadata/identity/oauth2/token?$query" 'Metadata: true')"
    machine="$(http GET "$metadata/metadata/instance/compute?api-version=2021-02-01&format=json" 'Metadata: true')"
    region="$(json_field location <<<"$machine")"
    # /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachineScaleSets/NAME/virtualMachines/0
    resource="$(json_field resourceId <<<"$machine" | sed 's#/virtualMachines/[^/]*$##')"
    names='"Cluster"' values="\"$CLUSTER_NAME\""
fi
token="$(json_field access_token <<<"$grant")"
http POST "${CLUSTER_METRIC_ENDPOINT:-https://$region.monitoring.azure.com}$resource/metrics" \
    "Authorization: Bearer $token" \
    "{\"time\": \"$(date --utc +%FT%TZ)\", \"data\": {\"baseData\": {\"metric\": \"BusyGpus\", \"namespace\": \"gpu-cluster\",
      \"dimNames\": [$names], \"series\": [{\"dimValues\": [$values],
      \"min\": $1, \"max\": $1, \"sum\": $1, \"count\": 1}]}}}" >/dev/null
