#!/usr/bin/env bash
# Counts the fabric's devices and fails when there are fewer than planned: without them the collectives fall back to TCP
# and jobs run many times slower, silently. With --drain the node is also taken out of service (Slurm's health check).
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"

driver_of() { basename "$(readlink "$1/device/driver" || true)"; }

# An RDMA port counts when it is up and speaks the fabric's link layer: Azure's Ethernet adapters are RDMA devices too.
has_active_port() {
    local port
    for port in "$1"/ports/*; do
        if [ "$(cat "$port/link_layer" 2>/dev/null)" = "$2" ] && grep -q ACTIVE "$port/state" 2>/dev/null; then
            return 0
        fi
    done
    return 1
}

count_devices() {
    local device count=0
    case "$CLUSTER_FABRIC" in
    efa)
        for device in "$CLUSTER_SYSFS"/class/infiniband/*; do
            if [ "$(driver_of "$device")" = efa ]; then count=$((count + 1)); fi
        done
        ;;
    infiniband | roce)
        local link_layer=InfiniBand
        if [ "$CLUSTER_FABRIC" = roce ]; then link_layer=Ethernet; fi
        for device in "$CLUSTER_SYSFS"/class/infiniband/*; do
            if has_active_port "$device" "$link_layer"; then count=$((count + 1)); fi
        done
        ;;
    tcpx | tcpxo)
        # One gVNIC is the machine's primary interface; the others carry GPU traffic.
        for device in "$CLUSTER_SYSFS"/class/net/*; do
            if [[ "$(driver_of "$device")" =~ ^(gve|gvnic)$ ]]; then count=$((count + 1)); fi
        done
        if [ "$count" -gt 0 ]; then count=$((count - 1)); fi
        ;;
    esac
    printf '%s\n' "$count"
}

if [ "$CLUSTER_FABRIC" = none ]; then exit 0; fi
found="$(count_devices)"
if [ "$found" -ge "$CLUSTER_FABRIC_INTERFACES" ]; then exit 0; fi

reason="fabric: $found of $CLUSTER_FABRIC_INTERFACES $CLUSTER_FABRIC devices"
if [ "${1:-}" = --drain ]; then drain_node "$reason"; fi
fail "$reason: the node does not take jobs, because they would fall back to TCP; replace the instance" 3
