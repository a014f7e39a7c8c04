#!/usr/bin/env bash
# Stores the password by which machines ask the directory, read from the terminal or standard input, where the settings say; then
# joins this machine. On a cloud it is typed once, on the controller, which alone may write it; on premises on every machine.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
[ -n "${CLUSTER_DIRECTORY_ID:-}" ] || fail "$NODE_ENV names no directory" 2
settings="$(CLUSTER_SECRET_ID="$CLUSTER_DIRECTORY_ID" bash "$here/secret_$CLUSTER_CLOUD.sh" read)" || fail "no settings in $CLUSTER_DIRECTORY_ID"
place="${CLUSTER_DIRECTORY_PASSWORD_ID:-}"
[ -n "$place" ] || fail "the directory answers without a password: its settings have no bind_dn" 2
if [ -t 0 ]; then printf 'Password of %s: ' "$(sed -n 's/^bind_dn //p' <<<"$settings")" >&2; fi
IFS= read -r -s password || true
case "$password" in
'' | ' '* | *' ' | *$'\r'*) fail "no password, or one with a blank at its ends, which sssd.conf cannot hold" 2 ;;
esac
# By standard input: arguments of a program are seen by every user.
printf '%s' "$password" | base64 --wrap=0 | CLUSTER_SECRET_ID="$place" bash "$here/secret_$CLUSTER_CLOUD.sh" write
exec bash "$here/users_directory.sh"
