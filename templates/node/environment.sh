#!/usr/bin/env bash
# Sourced by the other scripts: reads and checks node.env, prints messages, installs files.
# Status: 2 = node.env is wrong, 3 = the machine is not what was planned, 1 = anything else.
set -euo pipefail
# Tools of the AWS image and of snap are not on the path of user-data scripts.
PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/snap/bin"
export PATH

say() { printf 'gpu-cluster: %s\n' "$1" >&2; }

fail() {
    say "error: $1"
    exit "${2:-1}"
}

NODE_ENV="${CLUSTER_NODE_ENV:-/etc/gpu-cluster/node.env}"
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

require CLUSTER_CLOUD CLUSTER_ROLE CLUSTER_NAME CLUSTER_PARTITION \
    CLUSTER_SECRET_ID CLUSTER_GPUS_PER_NODE CLUSTER_FABRIC
: "${CLUSTER_CONTROLLER_ADDRESS:=}" "${CLUSTER_REGION:=}" "${CLUSTER_GPU_TYPE:=}"
: "${CLUSTER_FABRIC_INTERFACES:=0}" "${CLUSTER_SHARED_SOURCE:=}" "${CLUSTER_SHARED_PATH:=/shared}"
: "${CLUSTER_BUCKET:=}" "${CLUSTER_BUCKET_PATH:=/bucket}" "${CLUSTER_DATA_IDENTITY:=}" "${CLUSTER_SCRATCH_PATH:=/scratch}" "${CLUSTER_WAIT_S:=1800}"
: "${CLUSTER_DATABASE_HOST:=}" "${CLUSTER_DATABASE_USER:=}" "${CLUSTER_DATABASE_SECRET_ID:=}" "${CLUSTER_DATABASE_CA:=}"
: "${CLUSTER_SPOT:=no}" "${CLUSTER_BUSY_METRIC:=no}" "${CLUSTER_USERS_ID:=}" "${CLUSTER_LOGIN_ROLE:=login}"
: "${CLUSTER_JOB_ENVIRONMENT:=container}"
# AMD's devices are render nodes, which Linux counts from 128; from MI300 on a GPU has eight, all but the first for partitions.
case "$CLUSTER_GPU_TYPE" in
mi[12][0-9]*) : "${CLUSTER_ACCELERATOR_DEVICE:=dri/renderD}" "${CLUSTER_FIRST_ACCELERATOR:=128}" ;;
mi[0-9]*) : "${CLUSTER_ACCELERATOR_DEVICE:=dri/renderD}" "${CLUSTER_FIRST_ACCELERATOR:=128}" "${CLUSTER_ACCELERATOR_STEP:=8}" ;;
gaudi*) : "${CLUSTER_ACCELERATOR_DEVICE:=accel/accel}" ;;
*) : "${CLUSTER_ACCELERATOR_DEVICE:=nvidia}" ;;
esac
: "${CLUSTER_FIRST_ACCELERATOR:=0}" "${CLUSTER_ACCELERATOR_STEP:=1}"
: "${CLUSTER_CONFINEMENT:=cgroup}" "${CLUSTER_SYSFS:=/sys}" "${CLUSTER_DEVICES:=/dev}"

check_pattern CLUSTER_CLOUD 'aws|azure|gcp|local' 'one of aws, azure, gcp, local'
check_pattern CLUSTER_ROLE 'controller|login|compute' 'one of controller, login, compute'
check_pattern CLUSTER_SPOT 'yes|no' 'yes or no'
check_pattern CLUSTER_ACCELERATOR_DEVICE '[a-z][A-Za-z0-9_/]*' 'the name of a device file without its number, such as nvidia or neuron'
check_pattern CLUSTER_FIRST_ACCELERATOR '[0-9]{1,3}' 'the number of the first device file'
check_pattern CLUSTER_ACCELERATOR_STEP '[1-9]' 'how far the numbers of device files are apart'
check_pattern CLUSTER_BUSY_METRIC 'yes|no' 'yes or no'
check_pattern CLUSTER_JOB_ENVIRONMENT 'container|venv|modules' 'one of container, venv, modules'
check_pattern CLUSTER_NAME '[a-z][a-z0-9-]{0,30}' 'a lower-case name of letters, digits and hyphens'
check_pattern CLUSTER_PARTITION '[a-z][a-z0-9-]{0,30}' 'a lower-case name of letters, digits and hyphens'
check_pattern CLUSTER_GPUS_PER_NODE '[0-9]{1,3}' 'a number of GPUs'
check_pattern CLUSTER_FABRIC 'efa|infiniband|tcpx|tcpxo|roce|none' \
    'one of efa, infiniband, tcpx, tcpxo, roce, none'
check_pattern CLUSTER_FABRIC_INTERFACES '[0-9]{1,3}' 'a number of fabric devices'
check_pattern CLUSTER_SHARED_PATH '/[A-Za-z0-9/_.-]+' 'an absolute path'
check_pattern CLUSTER_SCRATCH_PATH '/[A-Za-z0-9/_.-]+' 'an absolute path'
check_pattern CLUSTER_BUCKET_PATH '/[A-Za-z0-9/_.-]+' 'an absolute path'
check_pattern CLUSTER_BUCKET '[A-Za-z0-9:/._-]*' 'a bucket name or URL'
check_pattern CLUSTER_WAIT_S '[0-9]{1,5}' 'a number of seconds'
check_pattern CLUSTER_CONFINEMENT 'cgroup|none' 'cgroup or none'
if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ]; then
    require CLUSTER_GPU_TYPE
    check_pattern CLUSTER_GPU_TYPE '[a-z][a-z0-9_-]{0,30}' 'a Slurm gres type such as h100'
fi
if [ "$CLUSTER_FABRIC" != none ] && [ "$CLUSTER_FABRIC_INTERFACES" -eq 0 ]; then
    fail "CLUSTER_FABRIC is $CLUSTER_FABRIC, so CLUSTER_FABRIC_INTERFACES has to be 1 or more" 2
fi
if [ "$CLUSTER_ROLE" != controller ]; then require CLUSTER_CONTROLLER_ADDRESS; fi
if [ "$CLUSTER_CLOUD" = aws ]; then require CLUSTER_REGION; fi
if [ -n "$CLUSTER_CONTROLLER_ADDRESS" ]; then
    check_pattern CLUSTER_CONTROLLER_ADDRESS '[A-Za-z0-9][A-Za-z0-9.-]*' 'an IPv4 address or a DNS name'
fi

check_pattern CLUSTER_SECRET_ID '[A-Za-z0-9:/._+@=-]+' 'the name, path or URL of a secret'
check_pattern CLUSTER_USERS_ID '[A-Za-z0-9:/._+@=-]*' 'the name, path or URL of a secret'
check_pattern CLUSTER_LOGIN_ROLE 'login|controller' 'login or controller'

# The host name is the instance's own: unique in the network and resolvable by the other nodes.
node_name() {
    local name
    name="$(hostname --short)"
    [[ "$name" =~ ^[A-Za-z0-9][A-Za-z0-9-]{0,62}$ ]] || fail "host name '$name' cannot be a Slurm node name" 3
    printf '%s\n' "$name"
}

# drain_node REASON: takes this node out of service; an operator's own reason and its time stay as they are.
drain_node() {
    local name
    name="$(node_name)"
    if ! scontrol show node "$name" | grep 'State=[^ ]*DRAIN' >/dev/null; then
        scontrol update nodename="$name" state=drain reason="$1"
    fi
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

# in_containers NAME PATH...: Enroot mounts these into every container.
in_containers() {
    local path name="$1"
    shift
    for path in "$@"; do printf '%s %s none x-create=auto,rbind,nofail,silent\n' "$path" "$path"; done |
        install_text "/etc/enroot/mounts.d/$name.fstab" 0644
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
