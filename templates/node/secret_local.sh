#!/usr/bin/env bash
# `read` prints the secret, `write` stores standard input: a file on this machine or on a shared path, for trials.
set -euo pipefail

case "$1" in
read)
    [ -s "$CLUSTER_SECRET_ID" ] || exit 4
    cat "$CLUSTER_SECRET_ID"
    ;;
write)
    umask 077
    cat >"$CLUSTER_SECRET_ID.new"
    mv "$CLUSTER_SECRET_ID.new" "$CLUSTER_SECRET_ID"
    ;;
*) exit 2 ;;
esac
