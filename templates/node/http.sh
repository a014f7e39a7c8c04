#!/usr/bin/env bash
# Sourced by the secret scripts. Tokens and bodies go through file descriptors, never through arguments that `ps` shows.
set -euo pipefail

# http METHOD URL HEADER [BODY]: prints the answer; status 4 = not found (404), 1 = any other refusal.
http() {
    local method="$1" url="$2" header="$3" body="${4:-}" answer code arguments=()
    if [ -n "$body" ]; then
        arguments=(--header 'Content-Type: application/json' --data-binary @-)
    fi
    answer="$(curl --silent --show-error --max-time 20 --request "$method" --header @<(printf '%s\n' "$header") \
        "${arguments[@]}" --write-out '\n%{http_code}' "$url" <<<"$body")" || return 1
    code="${answer##*$'\n'}"
    case "$code" in
    2??) printf '%s' "${answer%$'\n'*}" ;;
    404) return 4 ;;
    *)
        printf 'gpu-cluster: %s %s answered %s\n' "$method" "${url%%\?*}" "$code" >&2
        return 1
        ;;
    esac
}

# json_field NAME...: one field, by its path, of the JSON on standard input.
json_field() {
    python3 -c 'import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1:]:
    value = value[name]
print(value)' "$@"
}
