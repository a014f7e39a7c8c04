#!/usr/bin/env bash
# NVLink over several nodes of a cloud. `setup` at boot: a channel of IMEX, for jobs and their containers; `domain` prints the
# feature by which Slurm knows the node's NVLink domain; `start` and `stop` by Slurm's prolog and epilog.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=../node/environment.sh
. "$here/environment.sh"
# shellcheck source=../node/service.sh
. "$here/service.sh"
channels="$CLUSTER_DEVICES/nvidia-caps-imex-channels"

# GPUs with the same cluster and clique are in one domain; a GPU that has not joined has none.
domain() {
    nvidia-smi -q | awk -F' *: *' '
        $1 ~ /CliqueId$/ { clique = $2 }
        $1 ~ /ClusterUUID$/ { gsub(/-/, "", $2); seen["nvl_" $2 "_" clique] = 1; bad += $2 !~ /^[0-9a-f]+$/ || $2 ~ /^0+$/ }
        END { for (one in seen) { count++; found = one } if (count != 1 || bad) exit 1; print found }'
}

joined() { domain >/dev/null; }

setup() {
    local major
    command -v nvidia-imex >/dev/null ||
        fail "the image lacks nvidia-imex, without which GPUs of several nodes share no memory: take one that has it in the version of its driver" 3
    # The prolog starts it, with the nodes of one job.
    systemctl disable --now --quiet nvidia-imex
    wait_for "the NVLink domain of the GPUs" joined
    # Jobs have whole nodes, so that one channel is enough.
    major="$(awk '$2 == "nvidia-caps-imex-channels" { print $1 }' "${CLUSTER_PROC:-/proc}/devices")"
    [ -n "$major" ] || fail "the driver makes no channels of IMEX: it is too old for this node" 3
    mkdir -p "$channels"
    [ -e "$channels/channel0" ] || mknod --mode=0666 "$channels/channel0" c "$major" 0
    in_containers 50-nvlink "$channels"
}

case "$1" in
start | stop) exec bash "$here/imex.sh" "$1" ;;
*) "$1" ;;
esac
