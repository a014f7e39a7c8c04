#!/usr/bin/env bash
# Publishes every five minutes how many accelerators are busy. What cannot be counted never looks like idleness.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"

# Percent, a line for each.
utilisation() {
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits
    elif command -v rocm-smi >/dev/null; then
        rocm-smi --showuse --json | python3 -c 'import json, sys
for card in json.load(sys.stdin).values():
    print(card["GPU use (%)"])'
    else
        # NeuronCores; a first report may lack them.
        python3 -c 'import json, sys
busy = set()
for line in [next(sys.stdin) for _ in "123"]:
    for one in json.loads(line)["neuron_runtime_data"]:
        cores = one["report"]["neuroncore_counters"]
        assert not (one["error"] or cores["error"])
        busy |= {core for core, use in cores["neuroncores_in_use"].items() if use["neuroncore_utilization"]}
print(0, *(1 for _ in busy), sep="\n")' < <(PATH=$PATH:/opt/aws/neuron/bin timeout 60 neuron-monitor)
    fi
}

# shellcheck source=/dev/null
. "$here/environment.sh"

count_busy() {
    local lines
    lines="$(utilisation)" || return 1
    grep -qE '^ *[0-9]+ *$' <<<"$lines" || return 1
    grep -cE '^ *[1-9][0-9]* *$' <<<"$lines" || true
}

while true; do
    if busy="$(count_busy)"; then
        bash "$here/metric_$CLUSTER_CLOUD.sh" "$busy" || say "the metric could not be published"
    else
        say "utilisation of the accelerators cannot be read"
    fi
    # Or reports fall behind.
    sleep $((300 - SECONDS % 300))
done
