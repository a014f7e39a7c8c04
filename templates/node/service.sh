#!/usr/bin/env bash
# Sourced: start_service UNIT CHANGED COMMAND... starts a daemon under systemd, or by itself where there is no systemd.
# It is restarted only when its configuration changed (CHANGED = yes).
set -euo pipefail

has_systemd() { [ -d /run/systemd/system ]; }

start_service() {
    local unit="$1" changed="$2" pid_file pid
    shift 2
    if has_systemd; then
        systemctl daemon-reload
        systemctl enable --quiet "$unit"
        if [ "$changed" = yes ]; then
            systemctl restart "$unit"
        else
            systemctl start "$unit"
        fi
        return 0
    fi
    pid_file="/run/gpu-cluster/$unit.pid"
    mkdir -p /run/gpu-cluster /var/log/gpu-cluster
    if [ -f "$pid_file" ] && kill -0 "$(cat "$pid_file")" 2>/dev/null; then
        [ "$changed" = yes ] || return 0
        pid="$(cat "$pid_file")"
        kill "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    fi
    setsid "$@" >>"/var/log/gpu-cluster/$unit.log" 2>&1 </dev/null &
    printf '%s\n' "$!" >"$pid_file"
}

# run_service UNIT DESCRIPTION COMMAND...: a program of these scripts that is started again when it ends.
run_service() {
    local unit="$1" description="$2" program
    shift 2
    program="$(command -v "$1")"
    CHANGED=no
    if has_systemd; then
        install_text "/etc/systemd/system/$unit.service" 0644 <<CONF
[Unit]
Description=$description
After=network-online.target gpu-cluster-metadata.service
[Service]
ExecStart=$program ${*:2}
Restart=always
RestartSec=5
[Install]
WantedBy=multi-user.target
CONF
    fi
    start_service "$unit" "$CHANGED" "$@"
}

# Waits until COMMAND succeeds; the caller says what it waited for.
wait_for() {
    local what="$1" deadline
    shift
    deadline=$((SECONDS + CLUSTER_WAIT_S))
    until "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            # Once more, now with its own message.
            "$@" || fail "$what did not come up within $CLUSTER_WAIT_S s"
            return 0
        fi
        sleep 0.2
    done
}
