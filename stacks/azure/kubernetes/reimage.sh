# shellcheck shell=bash
# Moves the GPU nodes to the newest image that AKS has for their version. Sourced by cloud.sh.

# One node of a pool at a time, after its pods were evicted, as the pool's upgrade settings say.
reimage_nodes() {
  local pool group cluster
  group=$(output cluster cluster_resource_group_name)
  cluster=$(output cluster cluster_name)
  for pool in $(outputs nodes node_pools); do
    run az aks nodepool upgrade --resource-group "$group" --cluster-name "$cluster" --name "$pool" --node-image-only
  done
}
