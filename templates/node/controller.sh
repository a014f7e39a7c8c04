#!/usr/bin/env bash
# Slurm controller: configless, so compute nodes need no Slurm file of their own; every compute node is dynamic.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
require_slurm slurmctld

controller_name="$(node_name)"
address="$CLUSTER_CONTROLLER_ADDRESS"
if [ -z "$address" ]; then address="$(hostname --all-ip-addresses | cut --delimiter=' ' --fields=1)"; fi
partition="$CLUSTER_PARTITION"

slurm_conf() {
    cat <<CONF
# Written by /opt/gpu-cluster/controller.sh
ClusterName=$CLUSTER_NAME
SlurmctldHost=$controller_name($address)
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
SlurmctldParameters=enable_configless
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldTimeout=300
SlurmdTimeout=300
# A rebooted node comes back by itself.
ReturnToService=2
# Twice the plan: a replacement registers under a new name before the lost node is deleted.
MaxNodeCount=$((10#$CLUSTER_NODE_COUNT > 0 ? 2 * 10#$CLUSTER_NODE_COUNT : 2))
# Dynamic nodes cannot forward messages to each other.
TreeWidth=65533
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
# RDMA pins memory: a job must not inherit the submitting shell's limit.
PropagateResourceLimitsExcept=MEMLOCK
MpiDefault=none
CONF
    if [ "$CLUSTER_CONFINEMENT" = cgroup ]; then
        printf '%s\n' 'ProctrackType=proctrack/cgroup' 'TaskPlugin=task/cgroup,task/affinity'
    else
        printf '%s\n' 'ProctrackType=proctrack/linuxproc' 'TaskPlugin=task/none'
    fi
    if [ "$CLUSTER_FABRIC" != none ]; then
        printf '%s\n' "HealthCheckProgram=$here/health_check.sh" 'HealthCheckInterval=300' 'HealthCheckNodeState=ANY'
    fi
    if [ "$CLUSTER_CLOUD" = local ]; then
        # Both are needed: NoInAddrAny alone leaves slurmctld open to every interface.
        printf '%s\n' 'CommunicationParameters=NoCtldInAddrAny,NoInAddrAny'
    fi
    if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then printf '%s\n' 'GresTypes=gpu'; fi
    printf '%s\n' "NodeSet=$partition Feature=$partition" \
        "PartitionName=$partition Nodes=$partition Default=YES MaxTime=INFINITE State=UP"
}

gres_conf() {
    printf '%s\n' '# Written by /opt/gpu-cluster/controller.sh' 'AutoDetect=off'
    if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then
        printf '%s\n' "Name=gpu Type=$CLUSTER_GPU_TYPE File=$CLUSTER_DEVICES/nvidia[0-$((CLUSTER_GPUS_PER_NODE - 1))]"
    fi
}

install --directory --owner=slurm --group=slurm --mode=0755 /var/lib/slurm/slurmctld /var/log/slurm
text="$(slurm_conf)"
install_text /etc/slurm/slurm.conf 0644 <<<"$text"
text="$(gres_conf)"
install_text /etc/slurm/gres.conf 0644 <<<"$text"
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
