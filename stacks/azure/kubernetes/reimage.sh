# shellcheck shell=bash
# Moves the GPU nodes to the newest image that AKS has for their version. Sourced by cloud.sh.

# One node of a pool at a time, after its pods were evicted, as the pool's upgrade settings say.
reimage_nodes() {
  local pool group cluster present newest
  group=$(output cluster cluster_resource_group_name)
  cluster=$(output cluster cluster_name)
  for pool in $(outputs nodes node_pools); do
    present=$(az aks nodepool show --resource-group "$group" --cluster-name "$cluster" --name "$pool" \
      --query nodeImageVersion --output tsv)
    newest=$(az aks nodepool get-upgrades --resource-group "$group" --cluster-name "$cluster" --nodepool-name "$pool" \
      --query latestNodeImageVersion --output tsv)
    if [ -n "$newest" ] && [ "$present" = "$newest" ]; then
      say "$pool: 0 nodes to replace, all have $newest"
      continue
    fi
    run az aks nodepool upgrade --resource-group "$group" --cluster-name "$cluster" --name "$pool" --node-image-only
  done
}
