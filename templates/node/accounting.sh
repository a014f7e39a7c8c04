#!/usr/bin/env bash
# slurmdbd on the controller, on the cloud's managed MySQL. The connection is encrypted and the server's certificate is
# checked; the password comes from the secret store and is on disk only in slurmdbd.conf, readable by slurm alone.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
require CLUSTER_DATABASE_USER CLUSTER_DATABASE_SECRET_ID
check_pattern CLUSTER_DATABASE_HOST '[A-Za-z0-9][A-Za-z0-9.-]*' 'an IPv4 address or a DNS name'
check_pattern CLUSTER_DATABASE_USER '[A-Za-z][A-Za-z0-9_]{0,31}' 'a user name of MySQL'
check_pattern CLUSTER_DATABASE_SECRET_ID '[A-Za-z0-9:/._+@=!-]+' 'the name, path or URL of a secret'
check_pattern CLUSTER_DATABASE_CA '[A-Za-z0-9:/._+=-]*' 'a URL, or a PEM file in base64'
command -v slurmdbd >/dev/null || fail "slurmdbd is not installed" 3

# RDS keeps a JSON document with user and password, the others the password alone.
password() {
    local deadline=$((SECONDS + CLUSTER_WAIT_S)) value
    until value="$(CLUSTER_SECRET_ID="$CLUSTER_DATABASE_SECRET_ID" bash "$here/secret_$CLUSTER_CLOUD.sh" read)"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "no database password in $CLUSTER_DATABASE_SECRET_ID"
        sleep 1
    done
    python3 -c 'import json, sys
value = sys.stdin.read().rstrip("\n")
try:
    value = json.loads(value)["password"]
except (ValueError, KeyError, TypeError):
    pass
# Slurm reads # as a comment and drops backslashes; a quotation mark or a line break cannot be written at all.
if any(sign in value for sign in "\"\n\r\0"):
    sys.exit("the database password holds a quotation mark or a line break, which slurmdbd.conf cannot hold")
print(value.replace("\\", "\\\\").replace("#", "\\#"))' <<<"$value"
}

# The authority that signed the server's certificate: the system's, one to fetch, or one given as it is.
authority() {
    local path=/etc/slurm/database-ca.pem
    case "$CLUSTER_DATABASE_CA" in
    '') path=/etc/ssl/certs/ca-certificates.crt ;;
    https://*)
        if [ ! -s "$path" ]; then
            curl --fail --silent --show-error --retry 5 --proto =https --output "$path.new" "$CLUSTER_DATABASE_CA"
            mv "$path.new" "$path"
        fi
        ;;
    *) base64 --decode <<<"$CLUSTER_DATABASE_CA" | install_text "$path" 0644 ;;
    esac
    printf '%s' "$path"
}

secret="$(password)" || fail "the database password cannot be used"
certificate="$(authority)"
name="$(node_name)"
CHANGED=no
umask 077
text="# Written by /opt/gpu-cluster/accounting.sh
AuthType=auth/munge
DbdHost=$name
DbdAddr=${CLUSTER_CONTROLLER_ADDRESS:-$name}
SlurmUser=slurm
PidFile=/run/slurmdbd.pid
LogFile=/var/log/slurm/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=$CLUSTER_DATABASE_HOST
StorageUser=$CLUSTER_DATABASE_USER
StoragePass=\"$secret\"
StorageLoc=slurm_accounting
StorageParameters=SSL_CA=$certificate
# Records older than these are dropped, so that the database does not grow for ever.
PurgeEventAfter=24months
PurgeJobAfter=24months
PurgeStepAfter=12months"
install_text /etc/slurm/slurmdbd.conf 0600 <<<"$text"
chown slurm:slurm /etc/slurm/slurmdbd.conf
start_service slurmdbd "$CHANGED" setpriv --reuid=slurm --regid=slurm --clear-groups slurmdbd -D
wait_for "slurmdbd" bash -c "exec 3<>/dev/tcp/${CLUSTER_CONTROLLER_ADDRESS:-$name}/6819"
