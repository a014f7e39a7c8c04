# shellcheck shell=bash
# The way to the API server on Azure; sourced by cloud.sh. `say`, `fail`, `output` and `configured` are cluster.sh's.

require_api_tunnel() {
  # A network that exists gets no Bastion of the foundation, whatever bastionEnabled says. The stack is cluster.sh's.
  # shellcheck disable=SC2154
  ! grep -Eq "^ +virtualNetworkId: *[\"']?/" "foundation/Pulumi.$stack.yaml" ||
    fail "charts reach the private API server through the foundation's Bastion, and an existing network gets none: ./cluster.sh set apiFromOutside false, and bring up from a machine in the network (README.md, The private endpoint)"
  [ "$(configured foundation azure-gpu-foundation:bastionEnabled)" != false ] ||
    fail "charts reach the private API server through Bastion, and bastionEnabled is false: set it to true, or see README.md, The private endpoint"
}

# Starts a tunnel of Bastion that leads a port of this machine to the API server; Microsoft Entra says who may.
start_api_tunnel() {
  local bastion group cluster
  bastion=$(output foundation bastion_name)
  if [ -z "$bastion" ]; then
    say "the network has no Bastion of this foundation: see README.md, The private endpoint"
    return 1
  fi
  group=$(output foundation network_resource_group_name)
  cluster=$(output cluster cluster_id)
  az network bastion tunnel --name "$bastion" --resource-group "$group" --target-resource-id "$cluster" \
    --resource-port 443 --port "$1" &
  # cluster.sh ends it.
  # shellcheck disable=SC2034
  tunnel=$!
}

# Whoever runs it is logged in to the Azure command line already.
write_kubeconfig() {
  az aks get-credentials --resource-group "$(output cluster cluster_resource_group_name)" \
    --name "$(output cluster cluster_name)" --file "$1" --overwrite-existing >/dev/null
  kubelogin convert-kubeconfig --login azurecli --kubeconfig "$1"
}
