# shellcheck shell=bash
# Moves the GPU nodes to the control plane's version and its image. Sourced by cloud.sh.

# One node of a pool at a time, after its pods were evicted, as the pool's upgrade settings say.
reimage_nodes() {
  local pool cluster region project
  cluster=$(output cluster cluster_name)
  region=$(output foundation region)
  project=$(output foundation project)
  for pool in $(outputs nodes node_pools); do
    run gcloud container clusters upgrade "$cluster" --node-pool "$pool" --location "$region" --project "$project" --quiet
  done
}
