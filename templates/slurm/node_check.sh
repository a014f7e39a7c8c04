#!/usr/bin/env bash
# Looks whether this machine is fit for jobs: node_check.sh [--drain] [quick|boot]. Status 0 if it is, 3 if not, with a
# sentence for each fault. quick: between jobs, without load. boot: also versions, links and mounts, once after each start.
# With --drain Slurm is told the first fault as the reason.
set -euo pipefail
# Slurm gives these scripts no search path.
PATH="${CLUSTER_PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
export PATH
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=/dev/null
. "${CLUSTER_NODE_ENV:-/etc/gpu-cluster/node.env}"
sysfs="${CLUSTER_SYSFS:-/sys}"
drain=no
if [ "${1:-}" = --drain ]; then
    drain=yes
    shift
fi
depth="${1:-quick}"
faults=()

fault() { faults+=("$1"); }

# gpu_values FIELDS: a line of comma-separated values for each GPU; a fault where the driver does not answer.
gpu_values() {
    timeout 60 nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits 2>/dev/null || return 1
}

check_gpus() {
    local listed count=0 index lost=0 uncorrected pending failed slowed
    case "$CLUSTER_GPU_TYPE" in
    mi[0-9]* | gaudi*)
        # Their devices are counted; what their tools say of errors is in acceptance.md.
        for ((index = 0; index < CLUSTER_GPUS_PER_NODE; index++)); do
            if [ -e "${CLUSTER_DEVICES:-/dev}/$CLUSTER_ACCELERATOR_DEVICE$((CLUSTER_FIRST_ACCELERATOR + index * CLUSTER_ACCELERATOR_STEP))" ]; then
                count=$((count + 1))
            fi
        done
        if [ "$count" -lt "$CLUSTER_GPUS_PER_NODE" ]; then fault "$count accelerators, $CLUSTER_GPUS_PER_NODE planned"; fi
        return
        ;;
    esac
    if ! listed="$(gpu_values index,ecc.errors.uncorrected.volatile.total,clocks_event_reasons.hw_thermal_slowdown,clocks_event_reasons.hw_power_brake_slowdown)"; then
        fault "nvidia-smi does not answer"
        return
    fi
    while IFS=', ' read -r index uncorrected slowed lost; do
        if [ -z "$index" ]; then continue; fi
        count=$((count + 1))
        if [[ "$uncorrected" =~ ^[0-9]+$ ]] && [ "$uncorrected" -gt 0 ]; then
            fault "GPU $index: $uncorrected uncorrectable memory errors since the driver was loaded"
        fi
        if [ "$slowed" = Active ]; then fault "GPU $index: slowed by heat"; fi
        if [ "$lost" = Active ]; then fault "GPU $index: slowed by the power brake"; fi
    done <<<"$listed"
    if [ "$count" -ne "$CLUSTER_GPUS_PER_NODE" ]; then fault "$count GPUs, $CLUSTER_GPUS_PER_NODE planned"; fi
    # A row that waits to be remapped is replaced by a reset of the GPU; one that cannot be is the end of its memory.
    if listed="$(timeout 60 nvidia-smi --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure --format=csv,noheader,nounits 2>/dev/null)"; then
        while IFS=', ' read -r index pending failed; do
            if [[ "$failed" = Yes || "$failed" = 1 ]]; then fault "GPU $index: a row of its memory cannot be remapped: replace it"; fi
            if [[ "$pending" = Yes || "$pending" = 1 ]]; then fault "GPU $index: a row of its memory waits to be remapped: reset it"; fi
        done <<<"$listed"
    fi
}

check_nvlink() {
    local state
    if state="$(timeout 60 nvidia-smi nvlink --status 2>/dev/null)" && grep -q '<inactive>' <<<"$state"; then
        fault "$(grep -c '<inactive>' <<<"$state") NVLinks are inactive"
    fi
    # With NVSwitches GPUs compute only once Fabric Manager has trained their links.
    if state="$(timeout 60 nvidia-smi -q 2>/dev/null | sed -n '/^ *Fabric/,/Status/s/^ *State *: *//p' | sort -u)"; then
        if [[ "$state" == *"In Progress"* || "$state" == *"Not Started"* ]]; then fault "NVLink fabric: $(paste -sd ' ' - <<<"$state")"; fi
    fi
}

check_ports() {
    local port active=0 name
    if [ "${CLUSTER_FABRIC:-none}" = none ]; then return; fi
    for port in "$sysfs"/class/infiniband/*/ports/1; do
        if [ ! -r "$port/state" ]; then continue; fi
        name="$(basename "$(dirname "$(dirname "$port")")")"
        if grep -q ACTIVE "$port/state"; then
            active=$((active + 1))
            if [ -n "${CLUSTER_FABRIC_GBIT_PER_S:-}" ] && [ "$(grep -oE '^[0-9]+' "$port/rate")" -lt "$CLUSTER_FABRIC_GBIT_PER_S" ] &&
                [ "$(cat "$port/link_layer")" = "${CLUSTER_FABRIC_LINK_LAYER:-InfiniBand}" ]; then
                fault "$name: $(cat "$port/rate"), $CLUSTER_FABRIC_GBIT_PER_S Gb/s planned"
            fi
        fi
    done
    if [ "$active" -lt "$CLUSTER_FABRIC_INTERFACES" ]; then fault "$active active fabric ports, $CLUSTER_FABRIC_INTERFACES planned"; fi
}

check_machine() {
    local free
    if ! timeout 30 mountpoint --quiet "$CLUSTER_SHARED_PATH"; then fault "$CLUSTER_SHARED_PATH is not mounted"; fi
    free="$(df --output=pcent / | tail -n 1 | tr -dc 0-9)"
    if [ "$free" -ge 98 ]; then fault "the system disk is $free % full"; fi
    if ! chronyc -n tracking 2>/dev/null | grep -q 'Leap status *: Normal'; then fault "the clock follows no server"; fi
}

check_gpus
check_nvlink
check_ports
if [ "$depth" = boot ]; then
    check_machine
    if ! said="$(bash "$here/software_check.sh" 2>&1)"; then fault "software: $(tail -n 1 <<<"$said")"; fi
fi

if [ ${#faults[@]} -eq 0 ]; then exit 0; fi
for said in "${faults[@]}"; do printf 'gpu-cluster: %s\n' "$said" >&2; done
if [ "$drain" = yes ]; then
    name="$(hostname --short)"
    # An operator's own reason and its time stay as they are.
    if ! scontrol show node "$name" | grep 'State=[^ ]*DRAIN' >/dev/null; then
        scontrol update nodename="$name" state=drain reason="check: ${faults[0]}"
    fi
fi
exit 3
