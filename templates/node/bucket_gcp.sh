#!/usr/bin/env bash
# The cluster's bucket as a folder for everybody: gcsfuse, which acts as the account for data. The machine's own account may
# not use the bucket; it may ask for tokens of the other one, which may do nothing else.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"
# shellcheck source=service.sh
. "$here/service.sh"
# shellcheck source=http.sh
. "$here/http.sh"
if [ -z "$CLUSTER_DATA_IDENTITY" ]; then exit 0; fi
check_pattern CLUSTER_DATA_IDENTITY '[a-z0-9-]+@[a-z0-9.-]+' 'the e-mail address of a service account'
# Nobody but root gets into this folder, and so to the socket.
socket=/run/gpu-cluster-data/token

install_gcsfuse() {
    local version source reference codename
    if command -v gcsfuse >/dev/null; then return 0; fi
    software gcsfuse
    codename="$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")"
    add_repository gcsfuse "gcsfuse-$codename"
    install_packages "gcsfuse=$version" || fail "gcsfuse $version cannot be installed; name another version in node/software.csv"
}

# One token of the account for data, as gcsfuse reads it: IAM's generateAccessToken, for an hour.
token() {
    local metadata="${CLUSTER_METADATA_URL:-http://metadata.google.internal}" own answer
    own="$(http GET "$metadata/computeMetadata/v1/instance/service-accounts/default/token" 'Metadata-Flavor: Google' |
        json_field access_token)"
    answer="$(http POST "${CLUSTER_IAM_ENDPOINT:-https://iamcredentials.googleapis.com}/v1/projects/-/serviceAccounts/$CLUSTER_DATA_IDENTITY:generateAccessToken" \
        "Authorization: Bearer $own" \
        '{"scope": ["https://www.googleapis.com/auth/devstorage.read_write"], "lifetime": "3600s"}')"
    printf '{"access_token": "%s", "token_type": "Bearer", "expiry": "%s"}' \
        "$(json_field accessToken <<<"$answer")" "$(json_field expireTime <<<"$answer")"
}

# Answers every request on the socket with a token.
serve() {
    install --directory --mode=0700 "${socket%/*}"
    rm -f "$socket"
    exec python3 - "$socket" bash "$here/bucket_gcp.sh" token <<'PYTHON'
import http.server, socketserver, subprocess, sys

class Tokens(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        for _ in range(3):
            done = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE)
            if done.returncode == 0:
                break
        self.send_response(200 if done.returncode == 0 else 502)
        self.send_header("Content-Length", str(len(done.stdout)))
        self.end_headers()
        self.wfile.write(done.stdout)

    def log_message(self, *_):
        pass

class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

Server(sys.argv[1], Tokens).serve_forever()
PYTHON
}

# Everybody may read and write: whose file it is a bucket does not know. A mount whose program has ended is in the way.
run() {
    umount --lazy "$CLUSTER_BUCKET_PATH" 2>/dev/null || true
    mkdir -p "$CLUSTER_BUCKET_PATH"
    exec gcsfuse --foreground --token-url "unix://$socket" --implicit-dirs -o allow_other \
        --dir-mode 0777 --file-mode 0666 --log-severity warning "${CLUSTER_BUCKET#gs://}" "$CLUSTER_BUCKET_PATH"
}

case "${1:-}" in
token | serve | run) "$1" ;;
*)
    if [ "${CLUSTER_SKIP_PACKAGES:-0}" != 1 ]; then install_gcsfuse; fi
    run_service gpu-cluster-data-token 'Tokens of the account for data' bash "$here/bucket_gcp.sh" serve
    wait_for "a token of $CLUSTER_DATA_IDENTITY" \
        curl --silent --fail --max-time 20 --output /dev/null --unix-socket "$socket" http://unix/
    run_service gpu-cluster-bucket "The bucket at $CLUSTER_BUCKET_PATH" bash "$here/bucket_gcp.sh" run
    wait_for "the bucket $CLUSTER_BUCKET" mountpoint --quiet "$CLUSTER_BUCKET_PATH"
    in_containers 40-bucket "$CLUSTER_BUCKET_PATH"
    ;;
esac
