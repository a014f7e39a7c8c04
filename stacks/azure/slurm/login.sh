# shellcheck shell=bash
# The way to the login machine on Azure; sourced by cloud.sh. `output`, `configured` and `fail` are cluster.sh's.

# How ssh reaches the login machine, as lines of its configuration: through a tunnel of Bastion, which cluster.sh ends.
login_ssh() {
  local bastion group login port waited=0
  bastion=$(output foundation bastion_name)
  [ -n "$bastion" ] || fail "the foundation has no Bastion: use --host [USER@]HOST with the login machine's address"
  group=$(output foundation network_resource_group_name)
  login=$(output cluster login_id) || fail "the cluster layer has no output login_id: bring it up first"
  port=$((20000 + RANDOM % 20000))
  az network bastion tunnel --name "$bastion" --resource-group "$group" --target-resource-id "$login" \
    --resource-port 22 --port "$port" >/dev/null &
  # cluster.sh ends it.
  # shellcheck disable=SC2034
  tunnel=$!
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    waited=$((waited + 1))
    if [ "$waited" -gt 60 ] || ! kill -0 "$tunnel" 2>/dev/null; then fail "Bastion opened no tunnel to the login machine"; fi
    sleep 1
  done
  printf '  HostName 127.0.0.1\n  Port %s\n' "$port"
}
