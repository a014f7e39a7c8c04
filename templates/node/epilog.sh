#!/usr/bin/env bash
# Slurm's epilog: as root on each node of a job, after its last step.
set -euo pipefail
# Slurm gives these scripts no search path.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin
export PATH
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"

transport="$here/transport_$CLUSTER_CLOUD.sh"
if [ -x "$transport" ]; then bash "$transport" stop; fi
