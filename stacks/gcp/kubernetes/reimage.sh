# shellcheck shell=bash
# Moves the GPU nodes to the control plane's version and its image. Sourced by cloud.sh.

# One node of a pool at a time, after its pods were evicted, as the pool's upgrade settings say.
reimage_nodes() {
  local pool cluster region project newest present
  cluster=$(output cluster cluster_name)
  region=$(output foundation region)
  project=$(output foundation project)
  newest=$(gcloud container clusters describe "$cluster" --location "$region" --project "$project" \
    --format 'value(currentMasterVersion)')
  for pool in $(outputs nodes node_pools); do
    present=$(gcloud container node-pools describe "$pool" --cluster "$cluster" --location "$region" --project "$project" \
      --format 'value(version)')
    if [ -n "$newest" ] && [ "$present" = "$newest" ]; then
      say "$pool: 0 nodes to replace, all are of $newest"
      continue
    fi
    run gcloud container clusters upgrade "$cluster" --node-pool "$pool" --location "$region" --project "$project" --quiet
  done
}
