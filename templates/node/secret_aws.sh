#!/usr/bin/env bash
# `read` prints the secret, `write` stores standard input: AWS Secrets Manager. The AWS command line takes the role's
# credentials from the instance metadata service (IMDSv2) by itself.
set -euo pipefail

manager() { aws secretsmanager "$@" --region "$CLUSTER_REGION" --secret-id "$CLUSTER_SECRET_ID"; }

case "$1" in
read)
    errors="$(mktemp)"
    trap 'rm -f "$errors"' EXIT
    if manager get-secret-value --query SecretString --output text 2>"$errors"; then exit 0; fi
    # A secret that exists but was never written has no version with the label AWSCURRENT.
    if grep -q 'ResourceNotFoundException' "$errors" && grep -q 'staging label' "$errors"; then exit 4; fi
    cat "$errors" >&2
    exit 1
    ;;
write) manager put-secret-value --secret-string file:///dev/stdin >/dev/null ;;
*) exit 2 ;;
esac
