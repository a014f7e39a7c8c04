#!/usr/bin/env bash
# Slurm, munge, the Lustre client, disk tools and (AWS) the command line, each only if it is missing.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
export DEBIAN_FRONTEND=noninteractive

install_missing() {
    local package missing=()
    for package in "$@"; do
        dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -x installed >/dev/null ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    # At first boot the distribution's own jobs may hold the lock.
    apt-get -o DPkg::Lock::Timeout=600 update --quiet
    apt-get -o DPkg::Lock::Timeout=600 install --quiet --yes --no-install-recommends "${missing[@]}"
}

# add_repository KEY-URL SOURCE-URL SUITE
add_repository() {
    local keyring=/etc/apt/keyrings/lustre-client.asc
    if [ ! -s "$keyring" ]; then
        mkdir -p "$(dirname "$keyring")"
        curl --fail --silent --show-error --location --retry 5 --output "$keyring.new" "$1"
        mv "$keyring.new" "$keyring"
    fi
    CHANGED=no
    install_text /etc/apt/sources.list.d/lustre-client.list 0644 <<<"deb [signed-by=$keyring] $2 $3 main"
    if [ "$CHANGED" = yes ]; then apt-get -o DPkg::Lock::Timeout=600 update --quiet; fi
}

# The client is a kernel module: the package has to match the running kernel.
install_lustre() {
    local codename kernel package
    kernel="$(uname -r)"
    if modinfo lustre >/dev/null 2>&1 && command -v mount.lustre >/dev/null; then return 0; fi
    codename="$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")"
    case "$CLUSTER_CLOUD" in
    aws)
        add_repository https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc \
            https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu "$codename"
        install_missing "lustre-client-modules-$kernel"
        ;;
    gcp)
        add_repository https://us-apt.pkg.dev/doc/repo-signing-key.gpg \
            https://us-apt.pkg.dev/projects/lustre-client-binaries "lustre-client-ubuntu-$codename"
        install_missing "lustre-client-modules-$kernel" lustre-client-utils
        ;;
    azure)
        add_repository https://packages.microsoft.com/keys/microsoft.asc \
            "https://packages.microsoft.com/repos/amlfs-$codename/" "$codename"
        # One package name per Lustre release, one version of it per kernel: take the newest that knows this kernel.
        package="$(apt-cache search --names-only '^amlfs-lustre-client-[0-9]' | cut --delimiter=' ' --fields=1 |
            sort --version-sort --reverse | while read -r name; do
                # Not grep -q: it would end the pipe early, and pipefail would take that for "not found".
                if apt-cache madison "$name" | grep -F "| $kernel |" >/dev/null; then
                    printf '%s\n' "$name"
                    break
                fi
            done)"
        [ -n "$package" ] || fail "no Lustre client for kernel $kernel: use an image with a supported kernel" 3
        apt-get -o DPkg::Lock::Timeout=600 install --quiet --yes --no-install-recommends "$package=$kernel"
        ;;
    esac
    modprobe lustre || fail "the Lustre client does not load into kernel $kernel: use an image with a supported kernel" 3
}

# A background upgrade that restarts the driver or changes the kernel would end a job of weeks.
install_text /etc/apt/apt.conf.d/99gpu-cluster 0644 <<<'APT::Periodic::Unattended-Upgrade "0";'

packages=(curl ca-certificates python3 munge slurm-client mdadm xfsprogs)
case "$CLUSTER_ROLE" in
controller)
    packages+=(slurmctld)
    if [ -n "$CLUSTER_DATABASE_HOST" ]; then packages+=(slurmdbd); fi
    ;;
compute) packages+=(slurmd) ;;
esac
install_missing "${packages[@]}"
if [ "$CLUSTER_CLOUD" = aws ] && ! command -v aws >/dev/null; then snap install aws-cli --classic; fi
if [ -n "$CLUSTER_SHARED_SOURCE" ]; then install_lustre; fi
