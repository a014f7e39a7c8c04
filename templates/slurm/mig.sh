#!/usr/bin/env bash
# Divides every GPU of this machine by MIG: mig.sh [--at-boot] PROFILE:START[,PROFILE:START...], as software.md has them.
# Instances are lost with a reboot; --at-boot also makes a unit that runs this before slurmd. A second run changes nothing.
set -euo pipefail

say() { printf 'gpu-cluster: %s\n' "$1" >&2; }

fail() {
    say "error: $1"
    exit "${2:-1}"
}

at_boot=no
if [ "${1:-}" = --at-boot ]; then
    at_boot=yes
    shift
fi
placements="${1:-}"
[[ "$placements" =~ ^[1-9]g\.[0-9]+gb(\+me)?:[0-9](,[1-9]g\.[0-9]+gb(\+me)?:[0-9])*$ ]] ||
    fail "'$placements' are not profiles with their places, such as 4g.40gb:0,3g.40gb:4" 2

# has INDEX: the profiles of a GPU's instances with their places, sorted. A line of the list ends in START:SIZE.
has() {
    nvidia-smi mig --list-gpu-instances --id "$1" 2>/dev/null |
        sed -nE 's/.*MIG ([0-9]g\.[0-9]+gb(\+me)?) .* ([0-9]+):[0-9]+ .*/\1:\3/p' | sort | paste -sd , -
}

wanted="$(tr , '\n' <<<"$placements" | sort | paste -sd , -)"
gpus="$(nvidia-smi --query-gpu=index --format=csv,noheader)" || fail "nvidia-smi fails: is the driver loaded?" 3
for gpu in $gpus; do
    mode="$(nvidia-smi --id="$gpu" --query-gpu=mig.mode.current --format=csv,noheader)"
    if [ "$mode" = Enabled ] && [ "$(has "$gpu")" = "$wanted" ]; then continue; fi
    if [ -n "$(nvidia-smi --id="$gpu" --query-compute-apps=pid --format=csv,noheader)" ]; then
        fail "GPU $gpu is in use: drain the node first" 3
    fi
    if [ "$mode" != Enabled ]; then nvidia-smi --id="$gpu" --multi-instance-gpu=1 >/dev/null; fi
    mode="$(nvidia-smi --id="$gpu" --query-gpu=mig.mode.current --format=csv,noheader)"
    # Before Hopper the mode waits for a reset, which fails while something holds the GPU.
    if [ "$mode" != Enabled ]; then nvidia-smi --gpu-reset --id="$gpu" >/dev/null || fail "GPU $gpu needs a reboot" 3; fi
    # Compute instances first, then GPU instances; it fails where there are none.
    nvidia-smi mig --destroy-compute-instance --id "$gpu" >/dev/null 2>&1 || true
    nvidia-smi mig --destroy-gpu-instance --id "$gpu" >/dev/null 2>&1 || true
    nvidia-smi mig --create-gpu-instance "$placements" --id "$gpu" --default-compute-instance >/dev/null ||
        fail "GPU $gpu does not take $placements" 3
    [ "$(has "$gpu")" = "$wanted" ] || fail "GPU $gpu has $(has "$gpu"), not $wanted" 3
    say "GPU $gpu: $wanted"
done

if [ "$at_boot" = yes ]; then
    here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
    cat >"${CLUSTER_UNITS:-/etc/systemd/system}/gpu-cluster-mig.service" <<UNIT
[Unit]
Description=Slices of GPUs
After=nvidia-persistenced.service
Before=slurmd.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/bash $here/mig.sh $placements
[Install]
WantedBy=multi-user.target
RequiredBy=slurmd.service
UNIT
    systemctl daemon-reload
    systemctl enable gpu-cluster-mig.service
fi
