# shellcheck shell=bash
# The way to the API server on AWS; sourced by cloud.sh. `output`, `fail` and `aws_here` are cluster.sh's and cloud.sh's.

require_api_tunnel() {
  command -v session-manager-plugin >/dev/null ||
    fail "session-manager-plugin is not on PATH, and charts reach the private API server through it: install AWS's Session Manager plugin, or see README.md, The private endpoint"
}

# Starts a session of Systems Manager that leads a port of this machine through a system node to the API server: no port is
# open, no key is kept, and IAM says who may (ssm:StartSession).
start_api_tunnel() {
  local node endpoint
  node=$(aws_here ec2 describe-instances --output text --query 'Reservations[].Instances[].InstanceId | [0]' --filters \
    "Name=tag:eks:cluster-name,Values=$(output cluster cluster_name)" \
    "Name=tag:eks:nodegroup-name,Values=$(output cluster system_node_group)" Name=instance-state-name,Values=running)
  endpoint=$(output cluster endpoint)
  aws_here ssm start-session --target "$node" --document-name AWS-StartPortForwardingSessionToRemoteHost \
    --parameters "host=${endpoint#https://},portNumber=443,localPortNumber=$1" &
  # cluster.sh ends it.
  # shellcheck disable=SC2034
  tunnel=$!
}

write_kubeconfig() {
  aws_here eks update-kubeconfig --name "$(output cluster cluster_name)" --kubeconfig "$1" >/dev/null
}
