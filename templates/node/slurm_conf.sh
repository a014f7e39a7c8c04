#!/usr/bin/env bash
# Sourced by controller and login machine, so that both have one slurm.conf; only the controller knows its host name.
set -euo pipefail

# slurm_conf CONTROLLER: prints slurm.conf; CONTROLLER is `name(address)` on the controller itself, else its address.
slurm_conf() {
    local partition="$CLUSTER_PARTITION" scripts
    scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
    cat <<CONF
# Written by /opt/gpu-cluster/$CLUSTER_ROLE.sh
ClusterName=$CLUSTER_NAME
SlurmctldHost=$1
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
        printf '%s\n' "HealthCheckProgram=$scripts/health_check.sh" 'HealthCheckInterval=300' 'HealthCheckNodeState=ANY'
    fi
    if [ "$CLUSTER_CLOUD" = local ]; then
        # Both are needed: NoInAddrAny alone leaves slurmctld open to every interface.
        printf '%s\n' 'CommunicationParameters=NoCtldInAddrAny,NoInAddrAny'
    fi
    if [ -n "$CLUSTER_DATABASE_HOST" ]; then
        printf '%s\n' 'AccountingStorageType=accounting_storage/slurmdbd' \
            "AccountingStorageHost=$CLUSTER_CONTROLLER_ADDRESS"
        if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then printf '%s\n' 'AccountingStorageTRES=gres/gpu'; fi
    fi
    if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then printf '%s\n' 'GresTypes=gpu'; fi
    printf '%s\n' "NodeSet=$partition Feature=$partition" \
        "PartitionName=$partition Nodes=$partition Default=YES MaxTime=INFINITE State=UP"
}
