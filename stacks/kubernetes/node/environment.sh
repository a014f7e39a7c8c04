#!/usr/bin/env bash
# Sourced by busy_gpus.sh, in a pod instead of what a machine has under this name: the pod's variables are from its
# manifest, and how busy each GPU of its node is, it asks NVIDIA's exporter there. So it needs no GPU and nothing of the host.
set -euo pipefail

say() { printf 'gpu-cluster: %s\n' "$1" >&2; }

# Percent, one line for each GPU: DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-…",pod="…"} 97. A GPU that several pods share has a
# line for each of them. A GPU less than the node has is a figure that is missing, not one that is idle.
utilisation() {
    local figures line gpu percent
    local -A busiest=()
    # shellcheck source=/dev/null
    . "${BASH_SOURCE[0]%/*}/http.sh"
    figures="$(http GET "$CLUSTER_GPU_FIGURES_URL" 'Accept: text/plain')" || return 1
    while IFS= read -r line; do
        if [[ "$line" =~ ^DCGM_FI_DEV_GPU_UTIL\{(.*,)?UUID=\"([^\"]+)\".*\}\ ([0-9]+) ]]; then
            gpu="${BASH_REMATCH[2]}" percent="${BASH_REMATCH[3]}"
            if [ "$percent" -ge "${busiest[$gpu]:-0}" ]; then busiest[$gpu]="$percent"; fi
        fi
    done <<<"$figures"
    [ "${#busiest[@]}" -ge "$CLUSTER_GPUS_PER_NODE" ] || return 1
    printf '%s\n' "${busiest[@]}"
}
