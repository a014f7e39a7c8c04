#!/usr/bin/env bash
# Slurm, munge, the Lustre client, disk tools and (AWS) the command line, each only if it is missing.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"

# Microsoft: learn.microsoft.com, Azure CLI on Ubuntu. Google: the signer of Artifact Registry, as Mozilla names it for its
# repository there. AWS publishes none: as a public installer of the client pins it.
readonly MICROSOFT_KEY=BC528686B50D79E339D3721CEB3E94ADBE1229CF
readonly GOOGLE_KEY=35BAA0B33E9EB396F59CA838C0BA5CE6DC6315A3
readonly AWS_KEY=9C36DD9C515F10DBC3AA835C5D5CCC3383A962E1

# The fingerprints of all keys in a file, one per line; those of subkeys are bound to them by signatures.
fingerprints() {
    gpg --batch --quiet --no-options --with-colons --show-keys "$1" |
        awk -F: '$1 == "pub" { own = 1 } $1 == "fpr" && own { print $10; own = 0 }'
}

# add_repository KEY-URL FINGERPRINT SOURCE-URL SUITE: the key has to be the one known here, whoever answers at its URL.
add_repository() {
    local keyring=/etc/apt/keyrings/lustre-client.asc found
    if [ ! -s "$keyring" ]; then
        mkdir -p "$(dirname "$keyring")"
        curl --fail --silent --show-error --location --retry 5 --output "$keyring.new" "$1"
        found="$(fingerprints "$keyring.new" || true)"
        if [ "$found" != "$2" ]; then
            rm -f "$keyring.new"
            fail "the key at $1 has the fingerprint '${found//$'\n'/ }', not $2: compare with the vendor's page, then correct node/install_packages.sh" 3
        fi
        mv "$keyring.new" "$keyring"
    fi
    CHANGED=no
    install_text /etc/apt/sources.list.d/lustre-client.list 0644 <<<"deb [signed-by=$keyring] $3 $4 main"
    if [ "$CHANGED" = yes ]; then apt update --quiet; fi
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
            "$AWS_KEY" \
            https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu "$codename"
        install_missing "lustre-client-modules-$kernel"
        ;;
    gcp)
        add_repository https://us-apt.pkg.dev/doc/repo-signing-key.gpg \
            "$GOOGLE_KEY" \
            https://us-apt.pkg.dev/projects/lustre-client-binaries "lustre-client-ubuntu-$codename"
        install_missing "lustre-client-modules-$kernel" lustre-client-utils
        ;;
    azure)
        add_repository https://packages.microsoft.com/keys/microsoft.asc \
            "$MICROSOFT_KEY" \
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
if [ "$CLUSTER_CLOUD" = aws ] && ! command -v aws >/dev/null; then
    # A refresh during a job would take the command away for a while.
    snap install aws-cli --classic
    snap refresh --hold aws-cli
fi
if [ -n "$CLUSTER_SHARED_SOURCE" ]; then install_lustre; fi
