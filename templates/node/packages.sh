#!/usr/bin/env bash
# Sourced: installs packages, adds vendors' archives, and reads the table of what comes from elsewhere.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

# At first boot the distribution's own jobs may hold the lock.
apt() { apt-get -o DPkg::Lock::Timeout=600 "$@"; }

install_packages() { apt install --quiet --yes --no-install-recommends "$@"; }

# pin KIND NAME: the version of a package (KIND apt), or revision (snap), that software.csv has; empty for none.
pin() { awk -F, -v kind="$1" -v name="$2" '$1 == name && $3 == kind { print $2 }' "$(dirname "${BASH_SOURCE[0]}")/software.csv"; }

# check_pin KIND NAME FOUND: a version that is not the one of the table ends the boot; without one, what was found is said,
# as a row of the table.
check_pin() {
    local wanted
    wanted="$(pin "$1" "$2")"
    if [ -z "$wanted" ]; then
        say "not pinned in node/software.csv: $2,$3,$1,,$(date --iso-8601),found at boot"
    elif [ "$wanted" != "$3" ]; then
        fail "$2 is $3, node/software.csv says $wanted: correct the table, or take an image that has it" 3
    fi
}

version_of() { dpkg-query --show --showformat='${db:Status-Status} ${Version}' "$1" 2>/dev/null | sed -n 's/^installed //p'; }

# Writes the list of Ubuntu's archive as it was at the moment of the table. Fails where a machine has no such archive: no
# moment, another distribution, or processors whose snapshots have an address that is not known here.
snapshot_list() {
    local version source reference release suite
    software ubuntu-archive
    release="$(. /etc/os-release && printf '%s %s' "$ID" "${VERSION_CODENAME:-}")"
    if [ -z "$version" ] || [ "${release% *}" != ubuntu ] || [ "$(dpkg --print-architecture)" != amd64 ]; then return 1; fi
    for suite in "" -updates -security; do
        echo "deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] $source/$version ${release#* }$suite main universe"
    done | install_text /etc/apt/gpu-cluster.list 0644
}

# Packages in the version of the table, or in the one of the archive at the table's moment; with ARCHIVE=vendor from the
# machine's own list of archives.
install_missing() {
    local package wanted missing=() options=()
    for package in "$@"; do
        wanted="$(pin apt "$package")"
        [ -n "$(version_of "$package")" ] || missing+=("$package${wanted:+=$wanted}")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        if [ "${ARCHIVE:-}" != vendor ] && snapshot_list; then
            # Without cleanup the lists of the machine's own archives stay.
            options=(-o Dir::Etc::SourceList=/etc/apt/gpu-cluster.list -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0)
        fi
        apt "${options[@]}" update --quiet
        apt "${options[@]}" install --quiet --yes --no-install-recommends "${missing[@]}" ||
            fail "${missing[*]} cannot be installed; where a version has left the archive, or the image is newer than ubuntu-archive, name another in node/software.csv"
    fi
    for package in "$@"; do check_pin apt "$package" "$(version_of "$package")"; done
}

# software NAME: sets version, source and reference from software.csv.
software() {
    local name rest
    # shellcheck disable=SC2034
    while IFS=, read -r name version source reference rest; do
        if [ "$name" = "$1" ]; then return 0; fi
    done <"$(dirname "${BASH_SOURCE[0]}")/software.csv"
    fail "software.csv does not name $1" 2
}

# The fingerprints of all keys in a file, one per line; those of subkeys are bound to them by signatures.
fingerprints() {
    gpg --batch --quiet --no-options --with-colons --show-keys "$1" |
        awk -F: '$1 == "pub" { own = 1 } $1 == "fpr" && own { print $10; own = 0 }'
}

# add_repository NAME SUITE [FOLDER]: the archive in software.csv, or a folder of it. The key has to be the one of the table,
# whoever answers at its address.
add_repository() {
    # shellcheck disable=SC2034
    local version source reference keyring="/etc/apt/keyrings/$1.asc" address found
    software "$1"
    case "$CLUSTER_CLOUD" in
    aws) address=https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc ;;
    azure) address=https://packages.microsoft.com/keys/microsoft.asc ;;
    gcp) address=https://us-apt.pkg.dev/doc/repo-signing-key.gpg ;;
    esac
    if [ ! -s "$keyring" ]; then
        mkdir -p "$(dirname "$keyring")"
        curl --fail --silent --show-error --location --retry 5 --output "$keyring.new" "$address"
        found="$(fingerprints "$keyring.new" || true)"
        if [ "$found" != "$reference" ]; then
            rm -f "$keyring.new"
            fail "the key at $address has the fingerprint '${found//$'\n'/ }', not $reference: compare with the vendor's page, then correct node/software.csv" 3
        fi
        mv "$keyring.new" "$keyring"
    fi
    CHANGED=no
    install_text "/etc/apt/sources.list.d/$1.list" 0644 <<<"deb [signed-by=$keyring] $source${3:-} $2 main"
    if [ "$CHANGED" = yes ]; then apt update --quiet; fi
}
