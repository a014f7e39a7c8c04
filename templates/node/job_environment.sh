#!/usr/bin/env bash
# What jobs run in: containers by Enroot and Pyxis, virtual environments of Python, or environment modules.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"

# check_out NAME FOLDER: one commit. Its id is computed by git from what arrived, so that other content cannot have it.
check_out() {
    local version source reference deadline=$((SECONDS + CLUSTER_WAIT_S))
    software "$1"
    git init --quiet "$2"
    until git -C "$2" fetch --quiet --depth 1 "$source" "$reference"; do
        [ "$SECONDS" -lt "$deadline" ] ||
            fail "$1 $version cannot be fetched from $source; open the way there, or name a mirror of yours in node/software.csv"
        sleep 5
    done
    git -C "$2" checkout --quiet "$reference"
}

# Its helpers run inside of containers and are static: musl is the distribution's, with the kernel's own headers.
build_enroot() {
    local headers="$1/headers" name
    mkdir -p "$headers/sys"
    for name in linux asm-generic "$(gcc -print-multiarch)/asm"; do ln -s "/usr/include/$name" "$headers/"; done
    touch "$headers/sys/cdefs.h"
    # Bundles need makeself; nobody makes them here.
    local settings=(FORCE_GLIBC=1 CC=musl-gcc prefix=/usr/local sysconfdir=/etc DEPS=)
    export CPPFLAGS="-isystem $headers" LDFLAGS=-static
    make --quiet --directory="$1/enroot/deps" libbsd "${settings[@]}"
    make --quiet --directory="$1/enroot" --old-file=deps install "${settings[@]}" DESTDIR="$1/root"
    unset CPPFLAGS LDFLAGS
    sed --in-place "s;$1/root;;" "$1/root/usr/local/bin/enroot" "$1/root/etc/enroot/enroot.conf"
}

# build PACKAGE: Enroot, and Pyxis against this machine's Slurm, since the plugin fits one version alone.
build() {
    local folder
    install_missing gcc git libc6-dev libslurm-dev make musl-tools
    folder="$(mktemp --directory)"
    check_out enroot "$folder/enroot"
    check_out pyxis "$folder/pyxis"
    { build_enroot "$folder" && make --quiet --directory="$folder/pyxis" install DESTDIR="$folder/root"; } >&2 ||
        fail "Enroot and Pyxis cannot be built; the compiler's message is above"
    tar --create --file="$1.new" --owner=0 --group=0 --directory="$folder/root" etc usr
    mv "$1.new" "$1"
    rm -rf "$folder"
}

install_containers() {
    local version source reference store=/var/lib/gpu-cluster key stamp=/usr/local/share/enroot/package package id
    [ "${CLUSTER_SKIP_PACKAGES:-0}" = 1 ] ||
        install_missing bsdextrautils curl gawk jq libcap2-bin parallel pigz squashfs-tools zstd
    if [ -n "$CLUSTER_SHARED_SOURCE" ]; then store="$CLUSTER_SHARED_PATH/.gpu-cluster"; fi
    mkdir -p "$store"
    # Every machine installs as root what lies there.
    [ "$(stat --format='%u %a' "$store")" = '0 755' ] ||
        fail "$store has to belong to root and be writable by nobody else; remove it, and run this again" 3
    id="$(. /etc/os-release && printf '%s-%s' "$ID" "$VERSION_ID")"
    key="slurm-$(dpkg-query --show --showformat='${Version}' slurm-client)-$id-$(uname -m)"
    for name in pyxis enroot; do
        software "$name"
        key="$name-$version-${reference:0:12}-$key"
    done
    package="$store/$key.tar"
    # The first machine of a kind builds, usually the controller; the others wait for it.
    exec 9>"$store/lock"
    flock --timeout "$CLUSTER_WAIT_S" 9 || fail "another machine has been building $package for $CLUSTER_WAIT_S s"
    if [ ! -s "$package" ]; then build "$package"; fi
    exec 9>&-
    if [ "$(cat "$stamp" 2>/dev/null)" != "$key" ]; then
        tar --extract --file="$package" --directory=/ --no-overwrite-dir
        # Importing an image needs these, as in NVIDIA's package enroot+caps.
        setcap cap_sys_admin+pe /usr/local/bin/enroot-mksquashovlfs
        setcap cap_sys_admin,cap_mknod+pe /usr/local/bin/enroot-aufs2ovlfs
        printf '%s\n' "$key" >"$stamp"
    fi
}

# Enroot's hook 98-nvidia.sh calls nvidia-container-cli. AWS's deep learning images and Azure's HPC images bring it.
install_nvidia_tools() {
    local version source reference keyring=/etc/apt/keyrings/nvidia-container-toolkit.asc name packages=()
    software nvidia-container-toolkit
    install_missing gnupg curl
    mkdir -p "$(dirname "$keyring")"
    curl --fail --silent --show-error --location --retry 5 --output "$keyring.new" "$source/gpgkey"
    gpg --show-keys --with-colons "$keyring.new" | grep -x "fpr:*$reference:" >/dev/null ||
        fail "the key of $source has not the fingerprint $reference; nothing was installed" 3
    mv "$keyring.new" "$keyring"
    install_text /etc/apt/sources.list.d/nvidia-container-toolkit.list 0644 \
        <<<"deb [signed-by=$keyring] $source/stable/deb/$(dpkg --print-architecture) /"
    apt update --quiet
    for name in nvidia-container-toolkit{,-base} libnvidia-container{-tools,1}; do packages+=("$name=$version"); done
    install_packages "${packages[@]}"
}

allow_user_namespaces() {
    local kernel=/proc/sys
    # Ubuntu 23.10 and newer refuse them to programs without a profile; only Enroot gets one.
    if [ "$(cat "$kernel/kernel/apparmor_restrict_unprivileged_userns" 2>/dev/null)" = 1 ]; then
        sed 's,/usr/bin/,/usr/local/bin/,' /usr/local/share/enroot/apparmor.profile |
            install_text /etc/apparmor.d/enroot 0644
        apparmor_parser --replace /etc/apparmor.d/enroot
    fi
    if [ "$(cat "$kernel/kernel/unprivileged_userns_clone" 2>/dev/null)" = 0 ] ||
        [ "$(cat "$kernel/user/max_user_namespaces")" -lt 2 ]; then
        fail "the kernel refuses user namespaces to ordinary users, which containers need; set kernel.unprivileged_userns_clone=1 and user.max_user_namespaces" 3
    fi
}

set_up_containers() {
    local mode=1777 folder
    install_containers
    allow_user_namespaces
    if [ "$CLUSTER_ROLE" = compute ]; then
        if [ "$CLUSTER_GPUS_PER_NODE" -gt 0 ] && [ "$CLUSTER_ACCELERATOR_DEVICE" = nvidia ] &&
            ! command -v nvidia-container-cli >/dev/null; then
            install_nvidia_tools
        fi
        # The prolog makes each user's own folder.
        mode=0755
    fi
    for folder in /run/enroot "$CLUSTER_SCRATCH_PATH/enroot"; do install --directory --mode="$mode" "$folder"; done
    # Images take tens of GB: not the home folder, and not the system disk of a node.
    install_text /etc/enroot/enroot.conf.d/gpu-cluster.conf 0644 <<CONF
ENROOT_RUNTIME_PATH /run/enroot/user-\$(id -u)
ENROOT_CACHE_PATH $CLUSTER_SCRATCH_PATH/enroot/user-\$(id -u)/cache
ENROOT_DATA_PATH $CLUSTER_SCRATCH_PATH/enroot/user-\$(id -u)/data
ENROOT_TEMP_PATH $CLUSTER_SCRATCH_PATH/enroot/user-\$(id -u)
CONF
}

case "$CLUSTER_JOB_ENVIRONMENT" in
container) set_up_containers ;;
venv) if [ "${CLUSTER_SKIP_PACKAGES:-0}" != 1 ]; then install_missing python3-venv; fi ;;
modules)
    if [ "${CLUSTER_SKIP_PACKAGES:-0}" != 1 ]; then install_missing lmod; fi
    install_text /etc/lmod/modulespath 0644 <<<"$CLUSTER_SHARED_PATH/software/modulefiles"
    ;;
esac
