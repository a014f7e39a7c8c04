#!/usr/bin/env bash
# Joins the machine to the site's directory by SSSD: at boot, and every five minutes, so that changed settings need no new
# machine. The settings have one line for each value, some names several times; the password is in a place of its own, in
# base64, put there by `users_directory_password.sh`. Names of the settings:
#   uri | base | layout | start_tls | bind_dn | allow GROUP | administrators GROUP | passwords | ids | ca
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"
: "${CLUSTER_DIRECTORY_ID:=}" "${CLUSTER_DIRECTORY_PASSWORD_ID:=}"
for name in CLUSTER_DIRECTORY_ID CLUSTER_DIRECTORY_PASSWORD_ID; do
    check_pattern "$name" '[A-Za-z0-9:/._+@=-]*' 'the name, path or URL of a secret'
done
if [ -z "$CLUSTER_DIRECTORY_ID" ]; then exit 0; fi

CHANGED=no
if has_systemd; then
    # After the list of users, at each of its times.
    install_text /etc/systemd/system/gpu-cluster-users.service.d/directory.conf 0644 <<CONF
[Service]
ExecStart=/bin/bash $here/users_directory.sh
CONF
    if [ "$CHANGED" = yes ]; then systemctl daemon-reload; fi
fi

# stored PLACE WHAT: from the cloud's store, or a file. New permissions take minutes to reach every server of a cloud.
stored() {
    local deadline=$((SECONDS + CLUSTER_WAIT_S)) text
    until text="$(CLUSTER_SECRET_ID="$1" bash "$here/secret_$CLUSTER_CLOUD.sh" read)" && [ -n "$text" ]; do
        [ "$SECONDS" -lt "$deadline" ] || fail "no $2 in $1 after $CLUSTER_WAIT_S s"
        sleep 1
    done
    printf '%s\n' "$text"
}

# of_root PATH WHO: on premises these are files, and somebody else's file would say who becomes root.
of_root() { if [ "$CLUSTER_CLOUD" = local ]; then bash "$here/users_directory_local.sh" "$@"; fi; }
of_root "$CLUSTER_DIRECTORY_ID" reads
settings="$(stored "$CLUSTER_DIRECTORY_ID" 'settings of the directory')"
host='[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?' group='[A-Za-z][A-Za-z0-9._-]*' dn='[A-Za-z][A-Za-z0-9=,. _@+-]*'
line="(uri ldaps?://$host|base $dn|layout (rfc2307|rfc2307bis|ad)|start_tls (yes|no)|bind_dn $dn|allow $group|administrators $group|passwords (yes|no)|ids [0-9]{1,10} [0-9]{1,10}|ca [A-Za-z0-9+/=]+)"
while IFS= read -r one; do
    [[ "$one" =~ ^$line$ ]] || fail "the directory's settings have a line that is none: $one"
done <<<"$settings"

# value NAME: of the settings; values of one name with a comma between them.
value() { sed -n "s/^$1 //p" <<<"$settings" | paste --serial --delimiters=,; }
layout="$(value layout)" bind_dn="$(value bind_dn)" administrators="$(value administrators)" uris="$(value uri)" tls=false
if [ "$(value start_tls)" = yes ]; then tls=true; fi
if [[ $tls,$uris == *false,*ldap://* ]]; then
    fail "the directory's settings name a server of ldap:// without StartTLS: nothing is sent in plain text" 2
fi

if [ "${CLUSTER_SKIP_PACKAGES:-0}" != 1 ]; then
    install_missing sssd-common sssd-ldap sssd-tools libnss-sss libpam-sss
fi

CHANGED=no
authority=/etc/ssl/certs/ca-certificates.crt
certificate="$(value ca)"
if [ -n "$certificate" ]; then
    authority=/etc/gpu-cluster/directory-ca.pem
    base64 --decode <<<"$certificate" | install_text "$authority" 0644
fi

# Ordinary users work on the login machine, administrators on the controller too; nodes let nobody in. Slurm knows everybody.
login=no entering="$administrators"
if [ "$CLUSTER_ROLE" = "$CLUSTER_LOGIN_ROLE" ]; then
    login=yes
    entering="$(value allow)${administrators:+,$administrators}"
elif [ "$CLUSTER_ROLE" = compute ]; then
    entering=''
fi
access='access_provider = deny'
if [ -n "$entering" ]; then
    access="access_provider = simple
simple_allow_groups = $entering"
fi

read -r first last <<<"$(value ids)"
if [ "$layout" = ad ]; then
    # Numbers come from the SID, by arithmetic that is the same on every machine.
    mapping="ldap_id_mapping = true
ldap_idmap_range_min = $first
ldap_idmap_range_max = $last
ldap_user_ssh_public_key = altSecurityIdentities
case_sensitive = false
ldap_referrals = false"
else
    mapping="ldap_id_mapping = false
ldap_user_ssh_public_key = sshPublicKey"
fi

binding=''
if [ -n "$bind_dn" ]; then
    place="$CLUSTER_DIRECTORY_PASSWORD_ID"
    of_root "$place" alone
    if [ "$CLUSTER_ROLE" = compute ]; then
        # A job of a user that a node does not know fails: the node joins once the password is there, were it a day later.
        kept="$(CLUSTER_WAIT_S=86400 stored "$place" "password of $bind_dn")" || exit
    elif ! kept="$(CLUSTER_WAIT_S=0 stored "$place" "password of $bind_dn")"; then
        # It is typed on the controller, which has to be up for that.
        say "goes on without the directory, and asks again in five minutes"
        exit 0
    fi
    password="$(base64 --decode <<<"$kept" 2>/dev/null)" || fail "$place is not in base64: users_directory_password.sh stores it so"
    binding="ldap_default_bind_dn = $bind_dn
ldap_default_authtok_type = password
ldap_default_authtok = $password"
fi

# Accounts of the machine itself are never asked for in the directory.
own="$(getent --service=files passwd | cut -d: -f1 | paste --serial --delimiters=,)"
umask 077
install_text /etc/sssd/sssd.conf 0600 <<CONF
# Written by $here/users_directory.sh
[sssd]
services = nss, pam, ssh
domains = cluster

[nss]
filter_users = ${own:-root}

[domain/cluster]
id_provider = ldap
auth_provider = ldap
chpass_provider = none
sudo_provider = none
autofs_provider = none
$access
ldap_uri = $uris
ldap_search_base = $(value base)
ldap_schema = $layout
$mapping
min_id = $first
max_id = $last
ldap_id_use_start_tls = $tls
ldap_tls_reqcert = demand
ldap_tls_cacert = $authority
${binding:+$binding
}enumerate = false
cache_credentials = true
override_homedir = $CLUSTER_SHARED_PATH/home/%u
override_shell = /bin/bash
CONF
umask 022
changed="$CHANGED"

sed -E '/^(passwd|group):/{/ sss( |$)/!s/$/ sss/}' /etc/nsswitch.conf | install_text /etc/nsswitch.conf 0644
start_service sssd "$changed" sssd --interactive --logger=files

# answers: whether the directory knows one of the groups that the settings name.
answers() {
    local name
    for name in $(value allow | tr , ' ') $administrators; do
        if getent --service=sss group "$name"; then return 0; fi
    done
    return 1
}
wait_for "the directory with one of its groups (see /var/log/sssd/sssd_cluster.log)" answers
if [ "$CLUSTER_ROLE" != compute ]; then
    GROUPS_NAMED="$(value allow)" ADMINISTRATORS="$administrators" LOGIN="$login" PASSWORDS="$(value passwords)" \
        bash "$here/users_directory_logins.sh"
fi
