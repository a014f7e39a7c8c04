# shellcheck shell=bash
# Replaces GPU nodes by new ones from the newest launch template, a part of them at a time, with no job lost: drain, wait
# for jobs to end, terminate, wait for the replacements. Sourced by cloud.sh.
#
#   REIMAGE_BATCH   nodes at a time (default 4)
#   REIMAGE_ALL     yes replaces nodes of the newest template too (default no)
#   REIMAGE_POLL_S  seconds between two looks (default 30)

# Runs a command on the controller, which nobody can reach from outside, and prints what it says.
on_controller() {
  local machine command status
  machine=$(output cluster controller_instance_id)
  command=$(aws_here ssm send-command --document-name AWS-RunShellScript --instance-ids "$machine" \
    --parameters "$(printf '{"commands": ["%s"]}' "$1")" --query Command.CommandId --output text)
  while true; do
    status=$(aws_here ssm get-command-invocation --command-id "$command" --instance-id "$machine" \
      --query Status --output text 2>/dev/null || echo Pending)
    case $status in Pending | InProgress | Delayed) sleep 2 ;; *) break ;; esac
  done
  [ "$status" = Success ] || fail "the controller could not run '$1': $status"
  aws_here ssm get-command-invocation --command-id "$command" --instance-id "$machine" \
    --query StandardOutputContent --output text
}

# Waits until no node named is in a state other than those that a pattern allows.
wait_for_state() {
  local names=$1 pattern=$2 states
  while true; do
    states=$(on_controller "sinfo --noheader --Node --nodes=$names --format=%T | sort --unique" | grep -v '^$' || true)
    if [ -n "$states" ] && ! grep -Evx "$pattern" <<<"$states" >/dev/null; then return 0; fi
    sleep "${REIMAGE_POLL_S:-30}"
  done
}

# Instance and version of the template it was made from, for every node of a group in service.
nodes_of() {
  aws_here autoscaling describe-auto-scaling-groups --auto-scaling-group-names "$1" --output text \
    --query "AutoScalingGroups[0].Instances[?LifecycleState=='InService'].[InstanceId, LaunchTemplate.Version]"
}

# Slurm's name of an instance: the first part of its private name.
slurm_names() {
  aws_here ec2 describe-instances --instance-ids "$@" --output text \
    --query 'Reservations[].Instances[].[PrivateDnsName]' | sed 's/[.].*//' | paste -sd, -
}

replace_batch() {
  local group=$1 names instance wanted
  shift
  names=$(slurm_names "$@")
  say "draining $names: jobs that run there end first"
  on_controller "scontrol update nodename=$names state=drain reason=reimage" >/dev/null
  wait_for_state "$names" 'drained[*]?|down[*]?'
  for instance in "$@"; do
    run aws_here autoscaling terminate-instance-in-auto-scaling-group --instance-id "$instance" \
      --no-should-decrement-desired-capacity --output text >/dev/null
  done
  # Replacements register under names of their own; the old ones would count against Slurm's node table.
  on_controller "scontrol delete nodename=$names" >/dev/null
  wanted=$(aws_here autoscaling describe-auto-scaling-groups --auto-scaling-group-names "$group" \
    --query 'AutoScalingGroups[0].DesiredCapacity' --output text)
  say "waiting for $wanted nodes of $group to be in service"
  while true; do
    sleep "${REIMAGE_POLL_S:-30}"
    [ "$(nodes_of "$group" | grep -cvF -f <(printf '%s\n' "$@") || true)" -lt "$wanted" ] || break
  done
}

reimage_nodes() {
  local group newest line instance version batch=() groups lines=() count
  groups=$(outputs nodes node_groups)
  for group in $groups; do
    newest=$(aws_here autoscaling describe-auto-scaling-groups --auto-scaling-group-names "$group" \
      --query 'AutoScalingGroups[0].LaunchTemplate.Version' --output text)
    batch=()
    lines=()
    count=0
    while read -r line; do lines+=("$line"); done < <(nodes_of "$group")
    for line in ${lines[@]+"${lines[@]}"}; do
      read -r instance version <<<"$line"
      [ -n "$instance" ] || continue
      if [ "$version" = "$newest" ] && [ "${REIMAGE_ALL:-no}" != yes ]; then continue; fi
      batch+=("$instance")
      count=$((count + 1))
      if [ "${#batch[@]}" -ge "${REIMAGE_BATCH:-4}" ]; then
        replace_batch "$group" "${batch[@]}"
        batch=()
      fi
    done
    [ "${#batch[@]}" -eq 0 ] || replace_batch "$group" "${batch[@]}"
    say "$group: $count nodes were to replace; every node is of template version $newest"
  done
}
