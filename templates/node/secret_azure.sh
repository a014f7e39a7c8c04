#!/usr/bin/env bash
# `read` prints the secret, `write` stores standard input: Azure Key Vault, with the token of the managed identity.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=http.sh
. "$here/http.sh"

metadata="${CLUSTER_METADATA_URL:-http://169.254.169.254}"
identity="${CLUSTER_IDENTITY_CLIENT_ID:+&client_id=$CLUSTER_IDENTITY_CLIENT_ID}"
query="api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net$identity"
# A missing identity answers 404 as well; only the vault's own 404 may mean "no value yet".
grant="$(http GET "$metadata/metadata/identity/oauth2/token?$query" 'Metadata: true')" || exit 1
token="$(json_field access_token <<<"$grant")"
secret="$CLUSTER_SECRET_ID?api-version=7.4"

case "$1" in
read)
    answer="$(http GET "$secret" "Authorization: Bearer $token")" || exit
    json_field value <<<"$answer"
    ;;
write)
    # The key is base64, so it needs no escaping inside JSON.
    http PUT "$secret" "Authorization: Bearer $token" "{\"value\": \"$(cat)\"}" >/dev/null
    ;;
*) exit 2 ;;
esac
