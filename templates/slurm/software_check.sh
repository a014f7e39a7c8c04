#!/usr/bin/env bash
# Compares what this machine has with versions.csv: 0 if all is as planned, 3 if something is not, with a sentence each.
# A pinned version must be that one. Another one may be newer or older, and must not be below what the set requires.
# With --drain Slurm is told the reason.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
proc="${CLUSTER_PROC:-/proc}"
PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/usr/local/cuda/bin"
wrong=()

say() { printf 'gpu-cluster: %s\n' "$1" >&2; }

# number TEXT: the first version in it.
number() { grep -oE '[0-9]+(\.[0-9]+)+' <<<"$1" | head -n 1 || true; }

# answer PROGRAM OPTION: what it prints, nothing where it is not installed.
answer() { if command -v "$1" >/dev/null; then "$@" 2>&1 || true; fi; }

found() {
    local module="$proc/driver/nvidia/version"
    case "$1" in
    kernel) number "$(uname -r)" ;;
    driver) if [ -r "$module" ]; then number "$(grep NVRM "$module")"; fi ;;
    kernel_modules)
        if [ ! -r "$module" ]; then return 0; fi
        if grep -q 'Open Kernel Module' "$module"; then echo open; else echo proprietary; fi
        ;;
    fabricmanager) number "$(answer nv-fabricmanager --version)" ;;
    imex) number "$(answer nvidia-imex --version)" ;;
    cuda) number "$(answer nvcc --version | grep release || true)" ;;
    dcgm) number "$(answer dcgmi --version)" ;;
    nvidia-container-toolkit) number "$(answer nvidia-ctk --version)" ;;
    enroot) number "$(answer enroot version)" ;;
    doca-ofed) number "$(answer ofed_info -n)" ;;
    slurm) number "$(answer slurmd -V)" ;;
    rocm) if [ -r /opt/rocm/.info/version ]; then number "$(cat /opt/rocm/.info/version)"; fi ;;
    esac
}

# below VERSION LEAST: whether the first is older.
below() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort --version-sort | head -n 1)" = "$1" ]; }

while IFS=, read -r component version origin least here_needed; do
    if [ "$component" = component ]; then continue; fi
    seen="$(found "$component")"
    if [ -z "$seen" ]; then
        if [ "$here_needed" = yes ]; then wrong+=("$component: none found, $version planned"); fi
    elif [ "$origin" = pinned ] && [ "$seen" != "$version" ] && [[ "$seen" != "$version".* ]]; then
        wrong+=("$component: $seen found, $version pinned")
    elif [ -n "$least" ] && below "$seen" "$least"; then
        wrong+=("$component: $seen found, at least $least required")
    elif [ "$seen" != "$version" ] && [[ "$seen" != "$version".* ]]; then
        say "$component: $seen found, $version planned"
    fi
done <"$here/versions.csv"

# Fabric Manager starts beside its own driver alone, and without it no NVSwitch passes anything on. Where NVLink switches are
# trays of their own, Fabric Manager is theirs, and IMEX on the nodes is of the driver's version.
driver="$(found driver)"
for component in fabricmanager imex; do
    if ! grep -q "^$component," "$here/versions.csv"; then continue; fi
    fabric="$(found "$component")"
    if [ -n "$driver" ] && [ -n "$fabric" ] && [ "$driver" != "$fabric" ]; then
        wrong+=("$component $fabric beside driver $driver: they have to be equal")
    fi
done

if [ ${#wrong[@]} -eq 0 ]; then exit 0; fi
for line in "${wrong[@]}"; do say "$line"; done
if [ "${1:-}" = --drain ]; then
    name="$(hostname --short)"
    if ! scontrol show node "$name" | grep 'State=[^ ]*DRAIN' >/dev/null; then
        scontrol update nodename="$name" state=drain reason="software: ${wrong[0]}"
    fi
fi
exit 3
