#!/usr/bin/env bash
# Prints how busy each accelerator of this machine is, in percent, one line for each; fails where that cannot be read.
set -euo pipefail

# neuron-monitor says nothing of a runtime in a report that it writes before a whole period is over, so three of them
# count. A device is as busy as the busiest of its cores.
neuron() {
    set +o pipefail
    timeout 60 neuron-monitor | python3 -c 'import json, math, sys
reports = [json.loads(sys.stdin.readline()) for _ in range(3)]
hardware = reports[-1]["neuron_hardware_info"]
busy = [0] * hardware["neuron_device_count"]
for runtime in (one for report in reports for one in report["neuron_runtime_data"] or []):
    counters = runtime["report"]["neuroncore_counters"]
    if runtime.get("error") or counters.get("error"):
        sys.exit("neuron-monitor could not read a runtime")
    for core, figures in counters["neuroncores_in_use"].items():
        device = int(core) // hardware["neuroncore_per_device_count"]
        busy[device] = max(busy[device], math.ceil(figures["neuroncore_utilization"]))
print(*busy, sep="\n")'
}

PATH="$PATH:/opt/aws/neuron/bin"
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits
elif command -v rocm-smi >/dev/null; then
    rocm-smi --showuse --json | python3 -c 'import json, sys
for card in json.load(sys.stdin).values():
    print(card["GPU use (%)"])'
elif command -v neuron-monitor >/dev/null; then
    neuron
else
    exit 1
fi
