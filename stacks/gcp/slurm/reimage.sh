# shellcheck shell=bash
# Replaces nodes of an older instance template by new ones, a few at a time, with no job lost: drain, wait for jobs to end,
# replace, wait for the group. Sourced by cloud.sh.
#
#   REIMAGE_BATCH   nodes at a time (default 4)
#   REIMAGE_ALL     yes replaces nodes of the current template too (default no)
#   REIMAGE_POLL_S  seconds between two looks (default 30)

# A command on the controller, through Identity-Aware Proxy.
on_controller() {
  gcloud compute ssh "$(output cluster controller_name)" --tunnel-through-iap --quiet \
    --zone "$(output foundation zone)" --project "$(output foundation project)" --command "$1" </dev/null
}

# Waits until no job runs on the nodes any more; jobs that run are never ended, and a controller that does not answer is
# no sign of an idle node.
wait_until_idle() {
  local nodes=$1 jobs
  say "waiting for the jobs on $nodes to end"
  while true; do
    jobs=$(on_controller "squeue --noheader --nodelist=$nodes") || fail "the controller does not answer: nothing was replaced"
    [ -n "$jobs" ] || return 0
    sleep "${REIMAGE_POLL_S:-30}"
  done
}

# After a replacement a machine either kept its name, and takes jobs again, or is gone, and Slurm forgets it.
take_back() {
  local machine=$1 present=$2
  case " $present " in
    *" $machine "*) run on_controller "sudo scontrol update nodename=$machine state=resume" ;;
    *) run on_controller "sudo scontrol delete nodename=$machine" ;;
  esac || say "$machine: Slurm did not take that; look at sinfo"
}

machines_of() {
  gcloud compute instance-groups managed list-instances "$1" --zone "$zone" --project "$project" \
    --format 'value(instance.basename())'
}

# Nodes that were not made from the group's current template; all of them on request. Groups replace nothing by themselves,
# so each node's version is the template that it was made from.
old_machines_of() {
  local newest machine template
  newest=$(gcloud compute instance-groups managed describe "$1" --zone "$zone" --project "$project" \
    --format 'value(versions[0].instanceTemplate.basename())')
  gcloud compute instance-groups managed list-instances "$1" --zone "$zone" --project "$project" \
    --format 'value(instance.basename(), version.instanceTemplate.basename())' |
    while read -r machine template; do
      if [ "$template" != "$newest" ] || [ "${REIMAGE_ALL:-no}" = yes ]; then printf '%s\n' "$machine"; fi
    done
}

reimage_nodes() {
  local groups group zone project machines some machine names batch=${REIMAGE_BATCH:-4}
  zone=$(output foundation zone)
  project=$(output foundation project)
  groups=$(outputs nodes node_groups)
  [ -n "${groups//[[:space:]]/}" ] || fail "there is no instance group: a TPU slice is replaced as a whole, see README.md"
  for group in $groups; do
    machines=()
    while read -r machine; do machines+=("$machine"); done < <(old_machines_of "$group")
    say "$group: ${#machines[@]} nodes to replace"
    while [ "${#machines[@]}" -gt 0 ]; do
      some=("${machines[@]:0:batch}")
      machines=("${machines[@]:batch}")
      names=$(IFS=,; printf '%s' "${some[*]}")
      run on_controller "sudo scontrol update nodename=$names state=drain reason=reimage"
      wait_until_idle "$names"
      run gcloud compute instance-groups managed update-instances "$group" --zone "$zone" --project "$project" \
        --instances "$names" --minimal-action replace
      run gcloud compute instance-groups managed wait-until "$group" --stable --zone "$zone" --project "$project"
      for machine in "${some[@]}"; do take_back "$machine" "$(machines_of "$group" | tr '\n' ' ')"; done
    done
  done
}
