#!/usr/bin/env bash
# Prints how busy each GPU of this pod's node is, in percent, one line for each; fails where that cannot be read. The
# figures come from NVIDIA's exporter on the same node, so that this pod needs neither a GPU nor anything of the host.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=http.sh
. "$here/http.sh"

# DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-…",pod="…"} 97; a GPU that several pods share has a line for each of them.
declare -A busiest=()
figures="$(http GET "$CLUSTER_GPU_FIGURES_URL" 'Accept: text/plain')"
while IFS= read -r line; do
    if [[ "$line" =~ ^DCGM_FI_DEV_GPU_UTIL\{(.*,)?UUID=\"([^\"]+)\".*\}\ ([0-9]+) ]]; then
        gpu="${BASH_REMATCH[2]}" percent="${BASH_REMATCH[3]}"
        if [ "$percent" -ge "${busiest[$gpu]:-0}" ]; then busiest[$gpu]="$percent"; fi
    fi
done <<<"$figures"
# A GPU less than the node has is a figure that is missing, not one that is idle.
[ "${#busiest[@]}" -ge "$CLUSTER_GPUS_PER_NODE" ] || exit 1
printf '%s\n' "${busiest[@]}"
