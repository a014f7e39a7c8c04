#!/usr/bin/env bash
# Starts what runs beside slurmd: the watch for interruption notices of spot capacity, and the metric of busy GPUs.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"

# watch UNIT SCRIPT: one script as a daemon that comes back after a failure.
watch() {
    local unit="$1" script="$2"
    CHANGED=no
    if has_systemd; then
        install_text "/etc/systemd/system/$unit.service" 0644 <<CONF
[Unit]
Description=$unit of the GPU cluster
After=network-online.target
[Service]
ExecStart=/bin/bash $here/$script
Restart=always
RestartSec=10
[Install]
WantedBy=multi-user.target
CONF
    fi
    start_service "$unit" "$CHANGED" bash "$here/$script"
}

if [ "$CLUSTER_SPOT" = yes ]; then watch gpu-cluster-interruption interruption.sh; fi
if [ "$CLUSTER_BUSY_METRIC" = yes ]; then watch gpu-cluster-busy busy_gpus.sh; fi
