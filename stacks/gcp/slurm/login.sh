# shellcheck shell=bash
# The way to the login machine on Google Cloud; sourced by cloud.sh. `output`, `configured` and `fail` are cluster.sh's.

# How ssh reaches the login machine, as lines of its configuration: through the Identity-Aware Proxy.
login_ssh() {
  local name project zone
  name=$(output cluster login_name) || fail "the cluster layer has no output login_name: bring it up first"
  project=$(configured foundation gcp:project)
  zone=$(configured cluster gcp-gpu-cluster:zone)
  printf '  HostName %s\n  ProxyCommand gcloud compute start-iap-tunnel %s %%p --listen-on-stdin%s --zone %s %s\n' \
    "$name" "$name" "${project:+ --project $project}" "$zone" '--verbosity warning'
}
