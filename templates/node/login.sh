#!/usr/bin/env bash
# Login machine: Slurm's commands and the shared file system, no daemon of Slurm; jobs start on the nodes.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
# shellcheck source=slurm_conf.sh
. "$here/slurm_conf.sh"
text="$(slurm_conf "$CLUSTER_CONTROLLER_ADDRESS")"
install_text /etc/slurm/slurm.conf 0644 <<<"$text"
text="$(plugstack_conf)"
install_text /etc/slurm/plugstack.conf 0644 <<<"$text"
# Slurm's commands tell even their version only once they have a configuration.
require_slurm sinfo
wait_for "the controller $CLUSTER_CONTROLLER_ADDRESS" scontrol ping
say "login machine $(node_name) of $CLUSTER_NAME is up"
