#!/usr/bin/env bash
# The cluster's container of blobs as a folder for everybody: BlobFuse2, with the identity for data. The machine's own identity
# may not use the container, and the other one may do nothing else.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"
# shellcheck source=service.sh
. "$here/service.sh"
if [ -z "$CLUSTER_DATA_IDENTITY" ]; then exit 0; fi
check_pattern CLUSTER_DATA_IDENTITY '[0-9a-f-]+' 'the client id of an identity'
check_pattern CLUSTER_BUCKET 'https://[a-z0-9]+\.blob\.[a-z0-9.-]+/[a-z0-9-]+' 'the URL of a container of blobs'
configuration=/etc/gpu-cluster/blobfuse2.yaml

install_blobfuse2() {
    local version source reference id codename
    if command -v blobfuse2 >/dev/null; then return 0; fi
    software blobfuse2
    id="$(. /etc/os-release && printf '%s' "$VERSION_ID")"
    codename="$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")"
    add_repository blobfuse2 "$codename" "/$id/prod"
    install_packages "blobfuse2=$version" || fail "blobfuse2 $version cannot be installed; name another version in node/software.csv"
}

# Blocks go through memory, not through a disk. Without a limit the cache would take 60 % of the machine's memory.
write_configuration() {
    local host="${CLUSTER_BUCKET#https://}"
    install_text "$configuration" 0600 <<CONF
allow-other: true
disable-version-check: true
logging:
  type: syslog
  level: log_warning
components: [libfuse, block_cache, attr_cache, azstorage]
libfuse:
  attribute-expiration-sec: 60
  entry-expiration-sec: 60
block_cache:
  block-size-mb: 16
  mem-size-mb: 4096
attr_cache:
  timeout-sec: 60
azstorage:
  type: block
  account-name: ${host%%.*}
  container: ${host##*/}
  endpoint: https://${host%%/*}
  mode: msi
  appid: $CLUSTER_DATA_IDENTITY
CONF
}

run() {
    umount --lazy "$CLUSTER_BUCKET_PATH" 2>/dev/null || true
    mkdir -p "$CLUSTER_BUCKET_PATH"
    exec blobfuse2 mount "$CLUSTER_BUCKET_PATH" --config-file="$configuration" --foreground=true
}

case "${1:-}" in
run) run ;;
*)
    if [ "${CLUSTER_SKIP_PACKAGES:-0}" != 1 ]; then install_blobfuse2; fi
    write_configuration
    run_service gpu-cluster-bucket "The container of blobs at $CLUSTER_BUCKET_PATH" bash "$here/bucket_azure.sh" run
    wait_for "the container $CLUSTER_BUCKET" mountpoint --quiet "$CLUSTER_BUCKET_PATH"
    in_containers 40-bucket "$CLUSTER_BUCKET_PATH"
    ;;
esac
