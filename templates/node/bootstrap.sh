#!/usr/bin/env bash
# Turns this machine into the controller, a login machine or a compute node of the cluster that node.env describes. May run again at any
# time: what is already right stays untouched.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
[ "$(id -u)" -eq 0 ] || fail "run this as root"
# At a reboot cloud-init and the unit below may both start this; --close keeps the lock away from the daemons.
if [ "${CLUSTER_LOCKED:-}" != 1 ]; then
    CLUSTER_LOCKED=1 exec flock --close /run/gpu-cluster.lock bash "$here/bootstrap.sh"
fi

bash "$here/metadata.sh"
if has_systemd; then
    # User-data runs at the first boot only; the checks and the mounts are needed at every boot.
    install_text /etc/systemd/system/gpu-cluster.service 0644 <<CONF
[Unit]
Description=GPU cluster node bootstrap
Wants=network-online.target
After=network-online.target
[Service]
Type=oneshot
ExecStart=$here/bootstrap.sh
[Install]
WantedBy=multi-user.target
CONF
    systemctl daemon-reload
    systemctl enable --quiet gpu-cluster.service
fi
install_text /etc/profile.d/gpu-cluster.sh 0644 <<CONF
export CLUSTER_SHARED_PATH='$CLUSTER_SHARED_PATH'
export CLUSTER_SCRATCH_PATH='$CLUSTER_SCRATCH_PATH'
export CLUSTER_BUCKET='$CLUSTER_BUCKET'
export CLUSTER_BUCKET_PATH='${CLUSTER_DATA_IDENTITY:+$CLUSTER_BUCKET_PATH}'
CONF

if [ "${CLUSTER_SKIP_PACKAGES:-0}" != 1 ]; then bash "$here/install_packages.sh"; fi
bash "$here/shared_storage.sh"
bash "$here/users.sh"
# On AWS the file system mirrors the bucket.
bucket="$here/bucket_$CLUSTER_CLOUD.sh"
if [ -e "$bucket" ]; then bash "$bucket"; fi
if [ "$CLUSTER_ROLE" = compute ]; then bash "$here/scratch.sh"; fi
bash "$here/auth_key.sh"
# A node joins with all that its jobs need; the controller and the login machine are there before they build it.
if [ "$CLUSTER_ROLE" = compute ]; then bash "$here/job_environment.sh"; fi
bash "$here/$CLUSTER_ROLE.sh"
if [ "$CLUSTER_ROLE" != compute ]; then bash "$here/job_environment.sh"; fi
if [ "$CLUSTER_ROLE" = compute ]; then bash "$here/watches.sh"; fi
