#!/usr/bin/env bash
# Mounts the cluster's Lustre file system. The three managed services differ in the client package, not in the mount.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"

if [ -z "$CLUSTER_SHARED_SOURCE" ]; then exit 0; fi
check_pattern CLUSTER_SHARED_SOURCE '[A-Za-z0-9.:,@-]+:/[A-Za-z0-9_-]+' \
    'a Lustre source such as 10.0.0.4@tcp:/lustrefs'
path="$CLUSTER_SHARED_PATH"
mkdir -p "$path"
if mountpoint --quiet "$path"; then exit 0; fi
# A new file system takes a while to answer; flock is needed by common data loaders and by Jupyter.
wait_for "the file system $CLUSTER_SHARED_SOURCE" \
    mount -t lustre -o noatime,flock "$CLUSTER_SHARED_SOURCE" "$path"
# Only a new, empty file system still belongs to root alone.
if [ "$CLUSTER_ROLE" = controller ] && [ -z "$(ls -A "$path")" ]; then chmod 1777 "$path"; fi
