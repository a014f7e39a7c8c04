# shellcheck shell=bash
# Stands for a program of a machine in a trial: writes down how it is called, and answers as a machine that is in order
# would. Its name says which program. Nothing outside of $ROOT is changed. Variables of a trial:
#   ROOT     folder that stands for the machine; CALLS: folder of calls; ANSWERS: folder of what is asked
#   FAULTS   words, each of which makes something fail
name="${0##*/}"
# A file for each call: several programs write at once.
printf '%s\0' "$name" "$@" >"$CALLS/${EPOCHREALTIME:-$SECONDS}-$$"

faulty() { [[ " ${FAULTS:-} " == *" $1 "* ]]; }
# confined PROGRAM ARGUMENTS...: runs the real one where every path is in the machine's folder.
confined() {
    local one
    for one in "${@:2}"; do
        [[ $one != /* || $one == "$ROOT"* || $one == /dev/* || $one == "${TRIED:-/nowhere}"* ]] || exit 0
        [[ $one != *..* ]] || exit 0
    done
    exec "$REAL/$1" "${@:2}"
}
# last_word ARGUMENTS...: what no option is.
last_word() { printf '%s' "${*: -1}"; }
value_of() {
    local option="$1" one found=no
    shift
    for one in "$@"; do
        if [ "$found" = yes ]; then printf '%s' "$one" && return 0; fi
        case $one in
        "$option"=*) printf '%s' "${one#*=}" && return 0 ;;
        "$option") found=yes ;;
        esac
    done
    return 1
}
secret() { cat "$ANSWERS/secret-$1" 2>/dev/null; }
# which_secret TEXT: the trial's secrets are found by their names in what is asked for.
which_secret() {
    local one
    for one in "$ANSWERS"/secret-*; do
        if [[ $1 == *"${one##*/secret-}"* ]]; then printf '%s' "${one##*/secret-}" && return 0; fi
    done
    return 1
}

case $name in
id)
    case "$*" in
    -u) echo "${TRIAL_USER_ID:-0}" ;;
    -un) echo trial ;;
    *--group* | *-g*) echo 20001 ;;
    *) echo 'uid=0(root) gid=0(root) groups=0(root)' ;;
    esac
    ;;
flock)
    words=()
    while [ $# -gt 0 ]; do
        case $1 in
        --timeout | -w | --wait | -E) shift ;;
        -*) ;;
        *) words+=("$1") ;;
        esac
        [ ${#words[@]} -lt 2 ] || break
        shift
    done
    [ ${#words[@]} -lt 2 ] || exec "$@"
    ;;
hostname)
    case "$*" in
    *address* | -I) echo '10.0.0.9 ' ;;
    *) echo "${TRIAL_HOST:-node-1}" ;;
    esac
    ;;
uname)
    case "$*" in
    *-m*) cat "$ANSWERS/machine" ;;
    -s) echo Linux ;;
    *) cat "$ANSWERS/kernel" ;;
    esac
    ;;
nproc) echo 96 ;;
getent)
    case "$*" in
    *'--service=files passwd') echo 'root:x:0:0:root:/root:/bin/bash' ;;
    *'group cluster-users' | *'passwd mallory' | *'passwd 20009')
        faulty gone || exit 2
        case "$*" in *group*) echo 'cluster-users:x:998:mallory' ;; *) echo 'mallory:x:20009:20009::/shared/home/mallory:/bin/bash' ;; esac
        ;;
    # A directory knows every name.
    *--service=sss*) echo "$(last_word "$@"):*:20200:" ;;
    *) exit 2 ;;
    esac
    ;;
setpriv | timeout | nice | ionice | stdbuf | sudo | runuser | nohup | setsid)
    while [ $# -gt 0 ] && ! command -v "$1" >/dev/null; do shift; done
    [ $# -eq 0 ] || exec "$@"
    ;;
dpkg) [[ "$*" != *architecture* ]] || cat "$ANSWERS/architecture" ;;
dpkg-query)
    package="$(last_word "$@")" version=''
    while read -r one rest; do
        if [ "$one" = "$package" ]; then version="$rest"; fi
    done <"$ANSWERS/installed"
    if [ -z "$version" ] && [ -s "$ANSWERS/complete" ] && [[ $package != lustre-* ]]; then
        version="$(awk -F, -v name="$package" '$1 == name && $3 == "apt" { print $2 }' "$ANSWERS/software")"
        version="${version:-24.05.2-1}"
    fi
    [ -n "$version" ] || exit 1
    text="$(value_of --showformat "$@" || value_of -f "$@" || printf '%s' "\${Version}")"
    text="${text//\$\{db:Status-Status\}/installed}"
    text="${text//\$\{Status\}/install ok installed}"
    printf '%s\n' "${text//\$\{Version\}/$version}"
    ;;
apt-get | apt | aptitude)
    if faulty packages && [[ " $* " == *' install '* ]]; then exit 100; fi
    found=no
    for one in "$@"; do
        if [ "$found" = yes ] && [[ $one != -* ]]; then
            printf '%s %s\n' "${one%%=*}" "$(if [[ $one == *=* ]]; then echo "${one#*=}"; else echo 24.05.2-1; fi)" >>"$ANSWERS/installed"
        fi
        if [ "$one" = install ]; then found=yes; fi
    done
    ;;
apt-cache)
    case $1 in
    search) echo 'amlfs-lustre-client-2.16.1 - the client' ;;
    madison | policy) echo "$2 | $(cat "$ANSWERS/kernel") | https://archive" ;;
    esac
    ;;
snap) [ "$1" != list ] || [ ! -s "$ANSWERS/installed" ] || echo "${2:-aws-cli} 2.0 1" ;;
aws)
    if [[ "$*" == *get-secret-value* ]]; then
        which="$(which_secret "$*")"
        if faulty key && [ "$which" = trial-key ]; then
            echo 'ResourceNotFoundException: staging label' >&2 && exit 254
        fi
        secret "$which"
    elif [[ "$*" == *put-secret-value* ]]; then
        cat >/dev/null
    fi
    ;;
curl | wget)
    url='' output="$(value_of --output "$@" || value_of -o "$@" || value_of -O "$@" || true)"
    for one in "$@"; do [[ $one != http*://* ]] || url="$one"; done
    code=200 body='{}'
    case $url in
    *token* | *oauth2* | *generateAccessToken*)
        value="$(secret trial-token)"
        body="{\"access_token\": \"$value\", \"accessToken\": \"$value\", \"expireTime\": \"2030-01-01T00:00:00Z\", \"token_type\": \"Bearer\"}"
        ;;
    *)
        if which="$(which_secret "$url")"; then
            if faulty key && [ "$which" = trial-key ]; then
                code=404
            else
                value="$(secret "$which")"
                body="{\"value\": \"${value//$'\n'/\\n}\", \"payload\": {\"data\": \"$(secret "$which" | base64 -w 0)\"}}"
            fi
        fi
        ;;
    esac
    if [[ " $* " == *' @- '* ]]; then cat >/dev/null; fi
    if [ -n "$output" ]; then
        [[ $output != "$ROOT"* && $output != /dev/null ]] || printf '%s\n' "$url" >"$output"
    else
        printf '%s' "$body"
    fi
    if written="$(value_of --write-out "$@" || value_of -w "$@")"; then
        written="${written//%\{http_code\}/$code}"
        printf '%b' "$written"
    fi
    if [[ $code != 2* && " $* " =~ \ (--fail|-[A-Za-z]*f[A-Za-z]*)\  ]]; then exit 22; fi
    ;;
gpg | gpgv)
    faulty keyring && found=0000000000000000000000000000000000000000
    file="$(last_word "$@")" key="${file##*/}"
    key="${key%%.*}"
    [ -n "${found:-}" ] || found="$(awk -F, -v key="$key" '$1 == key { print $4 }' "$ANSWERS/software" | head -n 1)"
    if [ -z "$found" ]; then found="$(cat "$ANSWERS/fingerprints")"; fi
    for one in $found; do printf 'pub:-:4096:1:0000000000000000:\nfpr:::::::::%s:\n' "$one"; done
    ;;
sha256sum | sha512sum)
    # What is compared with a sum is as it was when the sum was made.
    if [[ " $* " =~ \ (--check|-c)\  ]]; then
        ! faulty keyring
    else
        printf '%064d  -\n' 0
    fi
    ;;
git)
    case " $* " in
    *' clone '*) confined mkdir -p "$(last_word "$@")" ;;
    *' init '*) confined mkdir -p "$(last_word "$@")" ;;
    esac
    ;;
gcc | cc) echo x86_64-linux-gnu ;;
make)
    into="$(for one in "$@"; do [[ $one != DESTDIR="$ROOT"* ]] || printf '%s' "${one#*=}"; done)"
    if [ -n "$into" ]; then
        "$REAL/mkdir" -p "$into/usr/local/bin" "$into/etc/enroot"
        : >"$into/usr/local/bin/enroot"
        : >"$into/etc/enroot/enroot.conf"
    fi
    ;;
tar)
    file="$(value_of --file "$@" || value_of -f "$@" || true)"
    if [[ " $* " == *create* && $file == "$ROOT"* ]]; then : >"$file" && printf 'x' >"$file"; fi
    ;;
stat)
    words=()
    for one in "$@"; do
        one="${one//%u/0}"
        words+=("${one//%U/root}")
    done
    confined stat "${words[@]}"
    ;;
lsblk)
    columns="$(value_of --output "$@" || value_of -o "$@" || value_of -no "$@" || value_of -ndo "$@" || value_of -dno "$@" || echo NAME)"
    awk -F '|' -v columns="$columns" -v device="$(last_word "$@")" -v flat="$([[ " $* " =~ \ (--nodeps|-[a-z]*d[a-z]*)\  ]] && echo 1)" '
        NR == 1 { for (place = 1; place <= NF; place++) at[$place] = place; next }
        device ~ /^\// && index($at["PATH"], device) != 1 { next }
        flat && $at["TYPE"] != "disk" { next }
        {
            count = split(columns, wanted, ",")
            for (place = 1; place <= count; place++) printf "%s%s", (place > 1 ? " " : ""), $at[toupper(wanted[place])]
            print ""
        }' "$ANSWERS/disks"
    ;;
blkid | file)
    if [[ " $* " == *' --label '* || " $* " == *' -L '* ]]; then exit 2; fi
    found="$(awk -F '|' -v device="$(last_word "$@")" '$2 == device && $4 != "" { print $4 }' "$ANSWERS/disks")"
    [ -n "$found" ] || exit 2
    printf '%s: UUID="1" TYPE="%s"\n' "$(last_word "$@")" "$found"
    ;;
mount)
    if faulty mount && [[ "$*" == *lustre* ]]; then exit 32; fi
    printf '%s\n' "$(last_word "$@")" >>"$ANSWERS/mounted"
    ;;
mountpoint)
    at="$(last_word "$@")"
    faulty gone || grep -Fqx "$at" "$ANSWERS/mounted" 2>/dev/null || [[ $at == "$ROOT/bucket" ]]
    ;;
findmnt) grep -Fqx "$(last_word "$@")" "$ANSWERS/mounted" 2>/dev/null ;;
nft | iptables)
    if faulty nft; then exit 1; fi
    ;;
docker | podman | ctr)
    if faulty transport; then exit 1; fi
    [[ "$*" != *stdin* ]] || cat >/dev/null
    [[ "$*" != *logs* ]] || echo 'Buffer manager initialization complete'
    ;;
modinfo) exit 1 ;;
modprobe) ;;
nvidia-smi) for one in "$ROOT"/dev/nvidia[0-9]*; do echo "GPU ${one##*nvidia}: stand-in"; done ;;
slurmctld | slurmd | slurmdbd | sinfo) [[ " $* " != *' -V '* ]] || echo 'slurm 24.05.2' ;;
squeue | sacctmgr | sacct) ;;
scontrol)
    case "$*" in
    *hostnames*) printf '%s\n' node-1 node-2 ;;
    ping*) echo 'Slurmctld(primary) at head is UP' ;;
    *show*) echo 'NodeName=node-1 State=IDLE Restarts=0' ;;
    esac
    ;;
sleep) exec "$REAL/sleep" 0.05 ;;
install)
    words=()
    for one in "$@"; do
        case $one in
        --owner=* | --group=*) ;;
        -o | -g | --owner | --group) skip=yes ;;
        *) if [ "${skip:-no}" = yes ]; then skip=no; else words+=("$one"); fi ;;
        esac
    done
    confined install "${words[@]}"
    ;;
cp | mv | rm | mkdir | rmdir | chmod | ln | touch | tee | truncate | dd | find) confined "$name" "$@" ;;
python3 | python)
    # A program of the job, not a snippet of a script.
    case ${RECORD_PROGRAMS:-}:${1:-} in
    all:-) exit 0 ;;
    :* | *:-c | *:-) exec "$PYTHON" -I "$@" ;;
    esac
    env -0 >"$ANSWERS/environment-$$"
    ! faulty program
    ;;
srun | mpirun)
    # The command after the options, once: as a task of a node that is not the job's first.
    while [ $# -gt 0 ] && { [[ $1 == -* ]] || ! command -v "$1" >/dev/null; }; do shift; done
    [ $# -eq 0 ] || TRIAL_HOST=node-2 SLURM_PROCID=1 SLURM_NODEID=1 SLURM_LOCALID=0 "$@"
    ;;
torchrun | vllm | accelerate | tune | deepspeed | trtllm-serve)
    env -0 >"$ANSWERS/environment-$$"
    ! faulty program
    ;;

esac
