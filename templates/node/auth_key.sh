#!/usr/bin/env bash
# Fetches the munge key from the secret store, installs it and starts munge. The controller makes the key when the secret
# has no value yet; compute nodes wait for it.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"

secret() { bash "$here/secret_$CLUSTER_CLOUD.sh" "$@"; }

fetch_key() {
    local deadline=$((SECONDS + CLUSTER_WAIT_S)) status key
    while true; do
        status=0
        key="$(secret read)" || status=$?
        if [ "$status" -eq 0 ] && [ -n "$key" ]; then
            printf '%s' "$key"
            return 0
        fi
        if [ "$status" -eq 4 ] && [ "$CLUSTER_ROLE" = controller ]; then
            say "the secret has no value yet: making the cluster's key"
            # New permissions take minutes to reach every server of a cloud, so a refusal is tried again too.
            head --bytes=128 /dev/urandom | base64 --wrap=0 | secret write || say "could not store the key, trying again"
        fi
        [ "$SECONDS" -lt "$deadline" ] ||
            fail "no authentication key in $CLUSTER_SECRET_ID after $CLUSTER_WAIT_S s; is the controller up and may this machine's role read the secret?"
        sleep 1
    done
}

key_file=/etc/munge/munge.key
umask 077
new_key="$(mktemp)"
trap 'rm -f "$new_key"' EXIT
fetched="$(fetch_key)"
base64 --decode <<<"$fetched" >"$new_key" 2>/dev/null || fail "the secret is not base64: it cannot be a munge key"
size_bytes="$(stat --format=%s "$new_key")"
if [ "$size_bytes" -lt 32 ] || [ "$size_bytes" -gt 1024 ]; then
    fail "the secret holds $size_bytes bytes; a munge key has 32 to 1024"
fi

changed=no
if ! cmp --silent "$new_key" "$key_file"; then
    install --directory --owner=munge --group=munge --mode=0700 "$(dirname "$key_file")"
    install --owner=munge --group=munge --mode=0400 "$new_key" "$key_file"
    changed=yes
fi
has_systemd || install --directory --owner=munge --group=munge --mode=0755 /run/munge
start_service munge "$changed" setpriv --reuid=munge --regid=munge --clear-groups munged --foreground
wait_for "munge" bash -c 'munge --no-input | unmunge >/dev/null'
