#!/usr/bin/env bash
# Sourced by the other scripts: reads and checks node.env, prints messages, installs files.
# Status: 2 = node.env is wrong, 3 = the machine is not what was planned, 1 = anything else.
set -euo pipefail

say() { printf 'clusterwright: %s\n' "$1" >&2; }

fail() {
    say "error: $1"
    exit "${2:-1}"
}

NODE_ENV="${CLUSTERWRIGHT_NODE_ENV:-/etc/clusterwright/node.env}"
[ -r "$NODE_ENV" ] || fail "cannot read $NODE_ENV; the stack's user-data has to write it first" 2
set -a
# shellcheck source=/dev/null
. "$NODE_ENV"
set +a

# All missing variables are named at once, so that one look is enough.
require() {
    local name missing=()
    for name in "$@"; do
        [ -n "${!name:-}" ] || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] || fail "$NODE_ENV does not set ${missing[*]}" 2
}

# These values end up in Slurm's files, so nothing but plain words and numbers may pass.
check_pattern() {
    local name="$1" pattern="$2" meaning="$3"
    [[ "${!name}" =~ ^($pattern)$ ]] || fail "$name='${!name}' is not $meaning" 2
}

require CLUSTERWRIGHT_CLOUD CLUSTERWRIGHT_ROLE CLUSTERWRIGHT_CLUSTER_NAME CLUSTERWRIGHT_PARTITION \
    CLUSTERWRIGHT_SECRET_ID CLUSTERWRIGHT_NODE_COUNT CLUSTERWRIGHT_GPUS_PER_NODE CLUSTERWRIGHT_FABRIC
: "${CLUSTERWRIGHT_CONTROLLER_ADDRESS:=}" "${CLUSTERWRIGHT_REGION:=}" "${CLUSTERWRIGHT_GPU_TYPE:=}"
: "${CLUSTERWRIGHT_FABRIC_INTERFACES:=0}" "${CLUSTERWRIGHT_SHARED_SOURCE:=}" "${CLUSTERWRIGHT_SHARED_PATH:=/shared}"
: "${CLUSTERWRIGHT_BUCKET:=}" "${CLUSTERWRIGHT_SCRATCH_PATH:=/scratch}" "${CLUSTERWRIGHT_WAIT_S:=1800}"
: "${CLUSTERWRIGHT_CONFINEMENT:=cgroup}" "${CLUSTERWRIGHT_SYSFS:=/sys}" "${CLUSTERWRIGHT_DEVICES:=/dev}"

check_pattern CLUSTERWRIGHT_CLOUD 'aws|azure|gcp|local' 'one of aws, azure, gcp, local'
check_pattern CLUSTERWRIGHT_ROLE 'controller|compute' 'controller or compute'
check_pattern CLUSTERWRIGHT_CLUSTER_NAME '[a-z][a-z0-9-]{0,30}' 'a lower-case name of letters, digits and hyphens'
check_pattern CLUSTERWRIGHT_PARTITION '[a-z][a-z0-9-]{0,30}' 'a lower-case name of letters, digits and hyphens'
check_pattern CLUSTERWRIGHT_NODE_COUNT '[0-9]{1,5}' 'a number of nodes'
check_pattern CLUSTERWRIGHT_GPUS_PER_NODE '[0-9]{1,3}' 'a number of GPUs'
check_pattern CLUSTERWRIGHT_FABRIC 'efa|infiniband|tcpx|tcpxo|roce|none' \
    'one of efa, infiniband, tcpx, tcpxo, roce, none'
check_pattern CLUSTERWRIGHT_FABRIC_INTERFACES '[0-9]{1,3}' 'a number of fabric devices'
check_pattern CLUSTERWRIGHT_SHARED_PATH '/[A-Za-z0-9/_.-]+' 'an absolute path'
check_pattern CLUSTERWRIGHT_SCRATCH_PATH '/[A-Za-z0-9/_.-]+' 'an absolute path'
check_pattern CLUSTERWRIGHT_BUCKET '[A-Za-z0-9:/._-]*' 'a bucket name or URL'
check_pattern CLUSTERWRIGHT_WAIT_S '[0-9]{1,5}' 'a number of seconds'
check_pattern CLUSTERWRIGHT_CONFINEMENT 'cgroup|none' 'cgroup or none'
if [ "$CLUSTERWRIGHT_GPUS_PER_NODE" -gt 0 ]; then
    require CLUSTERWRIGHT_GPU_TYPE
    check_pattern CLUSTERWRIGHT_GPU_TYPE '[a-z][a-z0-9_-]{0,30}' 'a Slurm gres type such as h100'
fi
if [ "$CLUSTERWRIGHT_FABRIC" != none ] && [ "$CLUSTERWRIGHT_FABRIC_INTERFACES" -eq 0 ]; then
    fail "CLUSTERWRIGHT_FABRIC is $CLUSTERWRIGHT_FABRIC, so CLUSTERWRIGHT_FABRIC_INTERFACES has to be 1 or more" 2
fi
if [ "$CLUSTERWRIGHT_ROLE" = compute ]; then require CLUSTERWRIGHT_CONTROLLER_ADDRESS; fi
if [ "$CLUSTERWRIGHT_CLOUD" = aws ]; then require CLUSTERWRIGHT_REGION; fi
if [ -n "$CLUSTERWRIGHT_CONTROLLER_ADDRESS" ]; then
    check_pattern CLUSTERWRIGHT_CONTROLLER_ADDRESS '[A-Za-z0-9][A-Za-z0-9.-]*' 'an IPv4 address or a DNS name'
fi

check_pattern CLUSTERWRIGHT_SECRET_ID '[A-Za-z0-9:/._+@=-]+' 'the name, path or URL of a secret'

# The host name is the instance's own: unique in the network and resolvable by the other nodes.
node_name() {
    local name
    name="$(hostname --short)"
    [[ "$name" =~ ^[A-Za-z0-9][A-Za-z0-9-]{0,62}$ ]] || fail "host name '$name' cannot be a Slurm node name" 3
    printf '%s\n' "$name"
}

# install_text PATH MODE: standard input becomes the file; CHANGED tells the caller whether that changed anything.
CHANGED=no
install_text() {
    local path="$1" mode="$2" text
    text="$(cat)"
    if [ -f "$path" ] && [ "$(cat "$path")" = "$text" ]; then return 0; fi
    mkdir -p "$(dirname "$path")"
    printf '%s\n' "$text" >"$path.new"
    chmod "$mode" "$path.new"
    mv "$path.new" "$path"
    # shellcheck disable=SC2034
    CHANGED=yes
}

# Dynamic nodes (slurmd -Z) start with Slurm 22.05.
require_slurm() {
    local program="$1" version
    command -v "$program" >/dev/null || fail "$program is not installed" 3
    version="$("$program" -V | sed -n 's/^[^ ]* \([0-9]*\.[0-9]*\).*/\1/p')"
    [[ "$version" =~ ^[0-9]+\.[0-9]+$ ]] || fail "cannot read the version of $program" 3
    if [ "$(printf '%s\n22.05\n' "$version" | sort --version-sort | head -n 1)" != 22.05 ]; then
        fail "Slurm $version is too old: dynamic nodes need 22.05 or newer; use an image such as Ubuntu 24.04" 3
    fi
}
