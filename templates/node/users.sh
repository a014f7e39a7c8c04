#!/usr/bin/env bash
# Makes the machine's users and groups those of the cluster's list: at boot, and every five minutes. Who left the list is
# locked; no home is ever deleted. The list has one line for each group, user and key:
#   group NAME GID
#   user NAME UID ADMINISTRATOR(yes|no) [GROUP,GROUP...]
#   key NAME ssh-ed25519 AAAA... [comment]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
if [ -z "$CLUSTER_USERS_ID" ]; then exit 0; fi

CHANGED=no
if has_systemd; then
    install_text /etc/systemd/system/gpu-cluster-users.service 0644 <<CONF
[Service]
Type=oneshot
ExecStart=/bin/bash $here/users.sh
CONF
    install_text /etc/systemd/system/gpu-cluster-users.timer 0644 <<'CONF'
[Timer]
OnActiveSec=5min
OnUnitInactiveSec=5min
RandomizedDelaySec=1min
[Install]
WantedBy=timers.target
CONF
    if [ "$CHANGED" = yes ]; then
        systemctl daemon-reload
        systemctl enable --quiet --now gpu-cluster-users.timer
    fi
fi

# On premises the list is a file: nobody but root may have a say in who becomes root.
if [ "$CLUSTER_CLOUD" = local ]; then
    for path in "$CLUSTER_USERS_ID" "$(dirname "$CLUSTER_USERS_ID")"; do
        if [ ! -e "$path" ]; then continue; fi
        if [ -L "$path" ] || [ "$(stat --format=%u "$path")" != 0 ] || [ -n "$(find "$path" -maxdepth 0 -perm /022)" ]; then
            fail "$path has to belong to root and be writable by nobody else: the list says who becomes root" 3
        fi
    done
fi

# New permissions take minutes to reach every server of a cloud.
deadline=$((SECONDS + CLUSTER_WAIT_S))
until list="$(CLUSTER_SECRET_ID="$CLUSTER_USERS_ID" bash "$here/secret_$CLUSTER_CLOUD.sh" read)"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "no list of users in $CLUSTER_USERS_ID after $CLUSTER_WAIT_S s"
    sleep 1
done
mapfile -t lines <<<"$list"
declare -A listed=()
word='[a-z][a-z0-9_-]{0,31}' number='[1-9][0-9]{3,9}'
for line in "${lines[@]}"; do
    [[ "$line" =~ ^(group\ $word\ $number|user\ ($word)\ $number\ (yes|no)(\ $word(,$word)*)?|key\ $word\ [a-z0-9@.-]+\ [A-Za-z0-9+/=]+(\ .*)?|)$ ]] ||
        fail "the list of users has a line that is none: $line"
    if [ -n "${BASH_REMATCH[2]}" ]; then listed["${BASH_REMATCH[2]}"]=1; fi
done

keys=/etc/ssh/gpu-cluster homes="$CLUSTER_SHARED_PATH/home"
# entry_of passwd|group NAME-OR-ID: the line of this machine's own file, not of a directory of accounts elsewhere.
entry_of() { getent --service=files "$@" || true; }

# has_group NAME GID: makes the group, unless another one has its name or number.
has_group() {
    local found
    found="$(entry_of group "$1" | cut -d: -f3)"
    [ -n "$found" ] || { groupadd --gid "$2" "$1" && return 0; }
    [ "$found" = "$2" ]
}

# Whose number it is shows on the shared file system, the same on every machine: there nobody gets the files of another.
owns_home() {
    local other owner
    while read -r other owner; do
        if [ "$owner" = "$2" ] && [ "$other" != "$1" ]; then return 1; fi
        if [ "$owner" != "$2" ] && [ "$other" = "$1" ]; then return 1; fi
    done < <(cd "$homes" && stat -c '%n %u' -- * 2>/dev/null)
}

make_home() {
    local new
    if [ -e "$homes/$1" ]; then return 0; fi
    new="$(mktemp -d "$homes/.new-XXXXXX")"
    cp -r -T /etc/skel "$new"
    chmod 0700 "$new"
    chown -R "$2:$2" "$new"
    # Every machine tries; the first one wins.
    mv -n -T "$new" "$homes/$1" || true
    rm -r -f "$new"
}

make_user() {
    local user="$1" uid="$2" groups="$3" entry found
    entry="$(entry_of passwd "$user")"
    found="$(entry_of passwd "$uid")"
    if [ "$entry" != "$found" ]; then say "user $user: this machine knows the name or $uid already" && return 0; fi
    if ! owns_home "$user" "$uid"; then say "user $user: $uid is not who owns the homes in $homes" && return 0; fi
    has_group "$user" "$uid" || { say "user $user: this machine knows the group $user or $uid" && return 0; }
    make_home "$user" "$uid"
    if [ -z "$entry" ]; then
        useradd --uid "$uid" --gid "$uid" --groups "$groups" --no-create-home --home-dir "$homes/$user" \
            --shell /bin/bash --password '*' "$user" || { say "user $user could not be made" && return 0; }
    elif [ "$(id -nG "$user" | tr ' ' '\n' | sort)" != "$(tr ',' '\n' <<<"$user,$groups" | sort)" ] ||
        [ "$(getent shadow "$user" | cut -d: -f8)" ]; then
        usermod --groups "$groups" --home "$homes/$user" --shell /bin/bash --expiredate '' "$user"
    fi
    # Nobody but root writes here, unlike in a home: who leaves the list has no key left.
    printf '%s\n' "${lines[@]}" | sed -n "s/^key $user //p" | install_text "$keys/$user" 0644
}

lock() {
    say "user $1 is not on the list any more"
    rm -f "$keys/$1"
    usermod --groups '' --expiredate 1 --shell /usr/sbin/nologin "$1"
    # A job that runs goes on to its end.
    if [ "$CLUSTER_ROLE" != compute ]; then pkill -KILL --uid "$1" || true; fi
}

if [ -n "$CLUSTER_SHARED_SOURCE" ]; then mountpoint --quiet "$CLUSTER_SHARED_PATH" || fail "$CLUSTER_SHARED_PATH is not mounted"; fi
mkdir -p "$homes" "$keys"
if [ -L "$homes" ] || [ "$(stat -c %u "$homes")" != 0 ]; then fail "$homes has to be a folder of root"; fi
chmod 0755 "$homes" "$keys"
for group in cluster-users cluster-admins; do entry_of group "$group" | grep . >/dev/null || groupadd --system "$group"; done
CHANGED=no
# Ordinary users work on the login machine; nodes belong to Slurm.
denied=''
if [ "$CLUSTER_ROLE" != "$CLUSTER_LOGIN_ROLE" ]; then denied='DenyGroups cluster-users'; fi
install_text /etc/ssh/sshd_config.d/10-gpu-cluster.conf 0644 <<CONF
PasswordAuthentication no
AuthorizedKeysFile .ssh/authorized_keys $keys/%u
$denied
CONF
if [ "$CHANGED" = yes ] && has_systemd; then systemctl try-reload-or-restart ssh; fi
if [ "$CLUSTER_ROLE" != compute ]; then
    install_text /etc/sudoers.d/gpu-cluster 0440 <<<'%cluster-admins ALL=(ALL) NOPASSWD:ALL'
fi
for line in "${lines[@]}"; do
    read -r kind name id administrator groups <<<"$line"
    case "$kind" in
    group) has_group "$name" "$id" || say "group $name: this machine knows the name or $id already" ;;
    user)
        group=cluster-users
        if [ "$administrator" = yes ]; then group=cluster-admins; fi
        make_user "$name" "$id" "$group${groups:+,$groups}"
        ;;
    esac
done
for group in cluster-users cluster-admins; do
    for name in $(entry_of group "$group" | cut -d: -f4 | tr ',' ' '); do
        [ -n "${listed[$name]:-}" ] || lock "$name"
    done
done
