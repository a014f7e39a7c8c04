#!/usr/bin/env bash
# Publishes every five minutes how many accelerators of this node were busy: the metric BusyGpus that the watchdog of idle
# clusters reads. A count that cannot be taken is not published, since missing data must never look like idleness.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"

# Percent, one line for each accelerator.
utilisation() {
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits
    elif command -v rocm-smi >/dev/null; then
        rocm-smi --showuse --json | python3 -c 'import json, sys
for card in json.load(sys.stdin).values():
    print(card["GPU use (%)"])'
    else
        return 1
    fi
}

count_busy() {
    local lines
    lines="$(utilisation)" || return 1
    [ "$(grep -cE '^ *[0-9]+ *$' <<<"$lines")" -gt 0 ] || return 1
    grep -cE '^ *[1-9][0-9]* *$' <<<"$lines" || true
}

while true; do
    if busy="$(count_busy)"; then
        bash "$here/metric_$CLUSTER_CLOUD.sh" "$busy" || say "the metric could not be published"
    else
        say "utilisation of the accelerators cannot be read"
    fi
    sleep "${CLUSTER_METRIC_EVERY_S:-300}"
done
