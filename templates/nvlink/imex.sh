#!/usr/bin/env bash
# The memory of GPUs in one NVLink domain is exchanged by a daemon (IMEX) that knows the job's nodes there, and no others:
# `start` and `stop` by Slurm's prolog and epilog. The last sentence of what it says is the reason why a node is drained.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
nodes="${CLUSTER_IMEX:-/etc/nvidia-imex}/nodes_config.cfg"

fail() {
    printf 'gpu-cluster: error: %s\n' "$1" >&2
    exit 1
}

# Lines of `host,domain`: as planned on premises; on a cloud as each node read it from its GPUs, among its features.
domains() {
    if [ -e "$here/nvlink_domains.csv" ]; then
        cat "$here/nvlink_domains.csv"
    else
        scontrol --oneliner show node "$SLURM_JOB_NODELIST" |
            sed -nE 's/^NodeName=([^ ]+) .*AvailableFeatures=([^ ]*,)?(nvl_[^ ,]+).*/\1,\3/p'
    fi
}

domain_of() { awk -F, -v host="$1" '$1 == host { print $2 }' <<<"$table"; }

start() {
    local table own domain host address
    table="$(domains)"
    own="$(hostname --short)"
    domain="$(domain_of "$own")"
    [ -n "$domain" ] || fail "the NVLink domain of $own is not known"
    stop
    while read -r host; do
        if [ "$(domain_of "$host")" != "$domain" ]; then continue; fi
        address="$(getent ahostsv4 "$host" | awk 'NR == 1 { print $1 }')"
        [ -n "$address" ] || fail "no address of $host"
        printf '%s\n' "$address" >>"$nodes"
    done < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
    timeout 60 systemctl start nvidia-imex || fail "nvidia-imex does not start"
}

stop() {
    timeout 30 systemctl stop nvidia-imex || true
    install --directory --mode=0755 "${nodes%/*}"
    : >"$nodes"
}

"$1"
