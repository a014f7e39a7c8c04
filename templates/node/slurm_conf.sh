#!/usr/bin/env bash
# Sourced by controller and login machine, so that both have one slurm.conf; only the controller knows its host name.
set -euo pipefail

# What srun and slurmd load: Pyxis gives srun --container-image. Configless nodes get this file too.
plugstack_conf() {
    if [ "$CLUSTER_JOB_ENVIRONMENT" = container ]; then
        printf '%s\n' 'required /usr/local/lib/slurm/spank_pyxis.so'
    fi
}

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
# More than a cluster can have: it grows without a new controller, and a replacement registers before the lost node is
# deleted. The whole table costs slurmctld 0.5 MiB (node/README.md, Growth).
MaxNodeCount=16384
# Dynamic nodes cannot forward messages to each other.
TreeWidth=65533
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
# RDMA pins memory: a job must not inherit the submitting shell's limit.
PropagateResourceLimitsExcept=MEMLOCK
MpiDefault=none
# On every node of a job before its batch script starts; a node where it fails is drained, and the job goes elsewhere.
Prolog=$scripts/prolog.sh
Epilog=$scripts/epilog.sh
PrologFlags=Alloc
SchedulerParameters=nohold_on_prolog_fail
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
