#!/usr/bin/env bash
# Slurm controller: configless, so compute nodes need no Slurm file of their own; every compute node is dynamic.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
# shellcheck source=slurm_conf.sh
. "$here/slurm_conf.sh"
require_slurm slurmctld

controller_name="$(node_name)"
if [ -z "$CLUSTER_CONTROLLER_ADDRESS" ]; then
    CLUSTER_CONTROLLER_ADDRESS="$(hostname --all-ip-addresses | cut --delimiter=' ' --fields=1)"
    export CLUSTER_CONTROLLER_ADDRESS
fi

gres_conf() {
    printf '%s\n' '# Written by /opt/gpu-cluster/controller.sh' 'AutoDetect=off'
    if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then
        local first="$CLUSTER_FIRST_ACCELERATOR"
        local last=$((10#$first + CLUSTER_GPUS_PER_NODE - 1))
        local numbers="$first-$last" flags="" gpu
        if [ "$CLUSTER_ACCELERATOR_STEP" -gt 1 ]; then
            numbers="$first"
            for ((gpu = 1; gpu < CLUSTER_GPUS_PER_NODE; gpu++)); do
                numbers+=",$((10#$first + gpu * CLUSTER_ACCELERATOR_STEP))"
            done
        fi
        # Jobs on AMD's GPUs get ROCR_VISIBLE_DEVICES alone: with NVIDIA's variable as well HIP would count twice.
        if [[ "$CLUSTER_ACCELERATOR_DEVICE" == dri/* ]]; then flags=" Flags=amd_gpu_env"; fi
        printf '%s\n' "Name=gpu Type=$CLUSTER_GPU_TYPE File=$CLUSTER_DEVICES/${CLUSTER_ACCELERATOR_DEVICE}[$numbers]$flags"
    fi
}

install --directory --owner=slurm --group=slurm --mode=0755 /var/lib/slurm/slurmctld /var/log/slurm
if [ -n "$CLUSTER_DATABASE_HOST" ]; then bash "$here/accounting.sh"; fi
text="$(slurm_conf "$controller_name($CLUSTER_CONTROLLER_ADDRESS)")"
install_text /etc/slurm/slurm.conf 0644 <<<"$text"
text="$(gres_conf)"
install_text /etc/slurm/gres.conf 0644 <<<"$text"
text="$(plugstack_conf)"
install_text /etc/slurm/plugstack.conf 0644 <<<"$text"
if [ "$CLUSTER_CONFINEMENT" = cgroup ]; then
    install_text /etc/slurm/cgroup.conf 0644 <<'CONF'
# Written by /opt/gpu-cluster/controller.sh
ConstrainCores=yes
ConstrainDevices=yes
ConstrainRAMSpace=yes
CONF
fi
start_service slurmctld "$CHANGED" slurmctld -D
wait_for "slurmctld" scontrol ping
say "controller $controller_name of $CLUSTER_NAME is up"
