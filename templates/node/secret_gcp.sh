#!/usr/bin/env bash
# `read` prints the secret, `write` stores standard input: GCP Secret Manager, with the token of the service account.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=http.sh
. "$here/http.sh"

metadata="${CLUSTER_METADATA_URL:-http://metadata.google.internal}"
account="$metadata/computeMetadata/v1/instance/service-accounts/default/token"
# A missing account answers 404 as well; only the secret's own 404 may mean "no value yet".
grant="$(http GET "$account" 'Metadata-Flavor: Google')" || exit 1
token="$(json_field access_token <<<"$grant")"
secret="${CLUSTER_SECRET_ENDPOINT:-https://secretmanager.googleapis.com}/v1/$CLUSTER_SECRET_ID"

case "$1" in
read)
    answer="$(http GET "$secret/versions/latest:access" "Authorization: Bearer $token")" || exit
    json_field payload data <<<"$answer" | base64 --decode
    ;;
write)
    http POST "$secret:addVersion" "Authorization: Bearer $token" \
        "{\"payload\": {\"data\": \"$(base64 --wrap=0)\"}}" >/dev/null
    ;;
*) exit 2 ;;
esac
