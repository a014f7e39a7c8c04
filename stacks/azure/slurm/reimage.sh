# shellcheck shell=bash
# Gives GPU nodes of an older model a fresh system, a part of them at a time, with no job lost: drain, wait for jobs to
# end, reimage, take back into service. Sourced by cloud.sh.
#
#   REIMAGE_BATCH   nodes at a time (default 4)
#   REIMAGE_ALL     yes reimages nodes of the newest model too (default no)
#   REIMAGE_POLL_S  seconds between two looks (default 30)

# Runs a command of Slurm on the controller, which nobody can reach from outside, and prints what it says.
on_controller() {
  az vm run-command invoke --ids "$(output cluster controller_id)" --command-id RunShellScript --scripts "$1" \
    --query 'value[0].message' --output tsv | sed -n '/^\[stdout\]/,/^\[stderr\]/p' | sed '1d;$d'
}

# Waits until every node named is in a state that matches a pattern.
wait_for_state() {
  local names=$1 pattern=$2 states
  while true; do
    states=$(on_controller "sinfo --noheader --Node --nodes=$names --format=%T | sort --unique")
    if [ -n "$states" ] && ! grep -Evx "$pattern" <<<"$states" >/dev/null; then return; fi
    sleep "${REIMAGE_POLL_S:-30}"
  done
}

reimage_batch() {
  local group=$1 scale_set=$2 names=$3
  shift 3
  say "draining $names: jobs that run there end first"
  on_controller "scontrol update nodename=$names state=drain reason=reimage" >/dev/null
  wait_for_state "$names" 'drained\*?|down\*?'
  # Machines keep the model that they were made from until they are told of the newest one.
  run az vmss update-instances --resource-group "$group" --name "$scale_set" --instance-ids "$@" --output none
  run az vmss reimage --resource-group "$group" --name "$scale_set" --instance-ids "$@" --output none
  # A node that came back answers again; then it takes jobs.
  wait_for_state "$names" 'drained|down|idle'
  on_controller "scontrol update nodename=$names state=resume" >/dev/null
  wait_for_state "$names" 'idle|mixed|allocated'
}

reimage_nodes() {
  local group scale_sets scale_set machines batch=${REIMAGE_BATCH:-4} ids names id name newest count
  group=$(output nodes nodes_resource_group_name)
  scale_sets=$(az vmss list --resource-group "$group" --query '[].name' --output tsv)
  [ -n "$scale_sets" ] || fail "resource group $group holds no scale set: nothing to reimage"
  for scale_set in $scale_sets; do
    # Numbers, host names, by which Slurm knows nodes, and whether a node is of the scale set's newest model.
    machines=$(az vmss list-instances --resource-group "$group" --name "$scale_set" \
      --query '[].[instanceId, osProfile.computerName, latestModelApplied]' --output tsv)
    ids=() names='' count=0
    while read -r id name newest; do
      [ -n "$id" ] || continue
      case $newest in [Tt]rue) [ "${REIMAGE_ALL:-no}" = yes ] || continue ;; esac
      count=$((count + 1))
      ids+=("$id")
      names="$names${names:+,}$name"
      if [ "${#ids[@]}" -eq "$batch" ]; then
        reimage_batch "$group" "$scale_set" "$names" "${ids[@]}"
        ids=() names=''
      fi
    done <<<"$machines"
    [ "${#ids[@]}" -eq 0 ] || reimage_batch "$group" "$scale_set" "$names" "${ids[@]}"
    say "$scale_set: $count nodes were to reimage"
  done
  say "every node has the newest system"
}
