#!/usr/bin/env bash
# Slurm compute node: dynamic (slurmd -Z), configuration from the controller, name from the instance.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
require_slurm slurmd
name="$(node_name)"

count_gpus() {
    local gpu count=0 number
    for ((gpu = 0; gpu < CLUSTER_GPUS_PER_NODE; gpu++)); do
        number=$((10#$CLUSTER_FIRST_ACCELERATOR + gpu * CLUSTER_ACCELERATOR_STEP))
        if [ -c "$CLUSTER_DEVICES/$CLUSTER_ACCELERATOR_DEVICE$number" ]; then count=$((count + 1)); fi
    done
    printf '%s\n' "$count"
}

if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then
    # The driver makes the device files at its first use.
    if [ "$CLUSTER_ACCELERATOR_DEVICE" = nvidia ] && command -v nvidia-smi >/dev/null; then
        nvidia-smi --list-gpus >/dev/null || say "nvidia-smi failed"
    fi
    gpus="$(count_gpus)"
    if [ "$gpus" -lt "$CLUSTER_GPUS_PER_NODE" ]; then
        fail "$gpus of $CLUSTER_GPUS_PER_NODE GPUs found: the node does not join; replace the instance" 3
    fi
fi
transport="$here/transport_$CLUSTER_CLOUD.sh"
if [ -x "$transport" ]; then bash "$transport" setup; fi
bash "$here/fabric_check.sh"

# In a container the plugin is the image's own.
if [ "$CLUSTER_FABRIC" = efa ] && [ "$CLUSTER_JOB_ENVIRONMENT" != container ] && [ ! -d /opt/amazon/ofi-nccl ]; then
    say "no /opt/amazon/ofi-nccl: jobs need NCCL's plugin for EFA (aws-ofi-nccl) in their environment, or they use TCP"
fi

description="Feature=$CLUSTER_PARTITION"
if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then
    description="$description Gres=gpu:$CLUSTER_GPU_TYPE:$CLUSTER_GPUS_PER_NODE"
fi
if has_systemd; then
    # The distribution's unit waits for a slurm.conf, which a configless node never has.
    install_text /etc/systemd/system/slurmd.service.d/gpu-cluster.conf 0644 <<CONF
[Unit]
ConditionPathExists=
[Service]
Type=simple
ExecStartPre=/bin/bash $here/fabric_check.sh
ExecStart=
ExecStart=/usr/sbin/slurmd -D -s -Z --conf-server $CLUSTER_CONTROLLER_ADDRESS --conf "$description"
Restart=on-failure
RestartSec=10
CONF
fi
mkdir -p /var/spool/slurmd /var/log/slurm

wait_for "the controller $CLUSTER_CONTROLLER_ADDRESS" \
    bash -c "exec 3<>/dev/tcp/$CLUSTER_CONTROLLER_ADDRESS/6817"
start_service slurmd "$CHANGED" \
    slurmd -D -Z --conf-server "$CLUSTER_CONTROLLER_ADDRESS" --conf "$description"
wait_for "registration of $name" scontrol show node "$name" -o
say "node $name of $CLUSTER_NAME is up"
