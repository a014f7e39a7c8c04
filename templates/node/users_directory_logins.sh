#!/usr/bin/env bash
# How users of the directory get in, for `users_directory.sh`: their homes, their SSH keys, and sudo of administrators.
# GROUPS_NAMED: whose members get in; ADMINISTRATORS: group, or nothing; LOGIN: whether this is the login machine; PASSWORDS: whether it takes passwords.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"

# SSSD keeps for 15 s that a group is not there, also of a question that came while it started.
for group in ${GROUPS_NAMED//,/ } $ADMINISTRATORS; do
    deadline=$((SECONDS + 20))
    until getent --service=sss group "$group" >/dev/null || [ "$SECONDS" -ge "$deadline" ]; do sleep 1; done
    [ "$SECONDS" -lt "$deadline" ] || say "the directory has no group $group: nobody gets in by it"
done

# The first login makes the home: on the login machine alone, where root may write to the shared file system.
homes="$CLUSTER_SHARED_PATH/home"
if [ "$LOGIN" = yes ]; then
    if [ -n "$CLUSTER_SHARED_SOURCE" ]; then mountpoint --quiet "$CLUSTER_SHARED_PATH" || fail "$CLUSTER_SHARED_PATH is not mounted"; fi
    install --directory --mode=0755 "$homes"
    CHANGED=no
    install_text /usr/share/pam-configs/gpu-cluster-home 0644 <<'CONF'
Name: Home of a user of the directory, made at the first login
Default: yes
Priority: 0
Session-Type: Additional
Session-Interactive-Only: yes
Session:
	required	pam_mkhomedir.so umask=0077 skel=/etc/skel
CONF
    if [ "$CHANGED" = yes ]; then pam-auth-update --enable gpu-cluster-home; fi
fi

# sshd takes one command for keys; on Google Cloud that of OS Login stays, for administrators of the project.
install_text /opt/gpu-cluster/keys_of_user 0755 <<'CONF'
#!/bin/sh
/usr/bin/sss_ssh_authorizedkeys "$1" 2>/dev/null
if [ -x /usr/bin/google_authorized_keys ]; then /usr/bin/google_authorized_keys "$1"; fi
exit 0
CONF
CHANGED=no
asks=no
if [ "$LOGIN" = yes ] && [ "$PASSWORDS" = yes ]; then asks=yes; fi
install_text /etc/ssh/sshd_config.d/09-gpu-cluster-directory.conf 0644 <<CONF
UsePAM yes
KbdInteractiveAuthentication $asks
AuthorizedKeysCommand /opt/gpu-cluster/keys_of_user %u
AuthorizedKeysCommandUser root
CONF
# Ubuntu's image for AWS names another command on sshd's command line, which would count.
if [ -d /usr/share/ec2-instance-connect ]; then
    install_text /etc/systemd/system/ssh.service.d/zz-gpu-cluster.conf 0644 <<'CONF'
[Service]
ExecStart=
ExecStart=/usr/sbin/sshd -D $SSHD_OPTS
CONF
    if [ "$CHANGED" = yes ] && has_systemd; then systemctl daemon-reload; fi
fi
if [ "$CHANGED" = yes ] && has_systemd; then systemctl try-restart ssh; fi

if [ -n "$ADMINISTRATORS" ]; then
    install_text /etc/sudoers.d/gpu-cluster-directory 0440 <<<"%$ADMINISTRATORS ALL=(ALL) NOPASSWD:ALL"
else
    rm -f /etc/sudoers.d/gpu-cluster-directory
fi
