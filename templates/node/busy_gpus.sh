#!/usr/bin/env bash
# Publishes every five minutes how many accelerators of this node were busy: the metric BusyGpus that the watchdog of idle
# clusters reads. A count that cannot be taken is not published, since missing data must never look like idleness.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# A machine reads its variables from node.env; a pod of Kubernetes has them from its manifest.
if [ -e "$here/environment.sh" ]; then
    # shellcheck source=/dev/null
    . "$here/environment.sh"
fi
every="${CLUSTER_METRIC_EVERY_S:-300}"

count_busy() {
    local lines line counted=0 busy=0
    lines="$(bash "$here/utilisation.sh")" || return 1
    while read -r line; do
        [[ "$line" =~ ^[0-9]+$ ]] || continue
        counted=$((counted + 1))
        if [ "$line" -gt 0 ]; then busy=$((busy + 1)); fi
    done <<<"$lines"
    [ "$counted" -gt 0 ] || return 1
    printf '%s\n' "$busy"
}

while true; do
    if busy="$(count_busy)"; then
        bash "$here/metric_$CLUSTER_CLOUD.sh" "$busy" || printf 'gpu-cluster: the metric could not be published\n' >&2
    else
        printf 'gpu-cluster: utilisation of the accelerators cannot be read\n' >&2
    fi
    # To the next full period, so that what a report takes never adds up to a report that is missing.
    sleep "$((every - SECONDS % every))"
done
