#!/usr/bin/env bash
# Slurm's prolog: as root on each node of a job, before its first step. A failure drains the node with the reason.
set -euo pipefail
# Slurm gives these scripts no search path.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin
export PATH
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"

refuse() {
    drain_node "prolog: $1"
    fail "prolog: $1"
}

if [ "$CLUSTER_JOB_ENVIRONMENT" = container ]; then
    group="$(id --group "$SLURM_JOB_UID")" || refuse "this node does not know user $SLURM_JOB_UID"
    for folder in /run/enroot "$CLUSTER_SCRATCH_PATH/enroot"; do
        install --directory --owner="$SLURM_JOB_UID" --group="$group" --mode=0700 "$folder/user-$SLURM_JOB_UID" ||
            refuse "$folder cannot be written"
    done
fi
transport="$here/transport_$CLUSTER_CLOUD.sh"
if [ -x "$transport" ]; then
    # The reason is the last sentence of what it says.
    said="$(bash "$transport" start 2>&1)" || refuse "${said##*error: }"
fi
