#!/usr/bin/env bash
# Slurm, munge, the Lustre client, disk tools and (AWS) the command line, each only if it is missing.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"

# The client is a kernel module: the package has to match the running kernel.
install_lustre() {
    local codename kernel package
    kernel="$(uname -r)"
    if modinfo lustre >/dev/null 2>&1 && command -v mount.lustre >/dev/null; then return 0; fi
    codename="$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")"
    case "$CLUSTER_CLOUD" in
    aws)
        add_repository lustre-client-aws "$codename"
        ARCHIVE=vendor install_missing "lustre-client-modules-$kernel"
        ;;
    gcp)
        add_repository lustre-client-gcp "lustre-client-ubuntu-$codename"
        ARCHIVE=vendor install_missing "lustre-client-modules-$kernel" lustre-client-utils
        ;;
    azure)
        add_repository lustre-client-azure "$codename" "/amlfs-$codename/"
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
        install_packages "$package=$kernel"
        ;;
    esac
    modprobe lustre || fail "the Lustre client does not load into kernel $kernel: use an image with a supported kernel" 3
}

# A background upgrade that restarts the driver or changes the kernel would end a job of weeks.
install_text /etc/apt/apt.conf.d/99gpu-cluster 0644 <<<'APT::Periodic::Unattended-Upgrade "0";'

packages=(curl ca-certificates gpg python3 munge slurm-client mdadm xfsprogs)
case "$CLUSTER_ROLE" in
controller)
    packages+=(slurmctld)
    if [ -n "$CLUSTER_DATABASE_HOST" ]; then packages+=(slurmdbd); fi
    ;;
compute) packages+=(slurmd) ;;
esac
install_missing "${packages[@]}"
case "$CLUSTER_CLOUD" in
aws)
    if ! command -v aws >/dev/null; then
        revision="$(pin snap aws-cli)"
        snap install aws-cli --classic ${revision:+--revision="$revision"}
        # A refresh during a job would take the command away for a while.
        snap refresh --hold aws-cli
    fi
    # An image may have the command line without the snap.
    revision="$(snap list aws-cli 2>/dev/null | awk '$1 == "aws-cli" { print $3 }' || true)"
    if [ -n "$revision" ]; then check_pin snap aws-cli "$revision"; fi
    ;;
esac
if [ -n "$CLUSTER_SHARED_SOURCE" ]; then install_lustre; fi
