#!/usr/bin/env bash
# Sourced: installs packages, and reads the table of what comes from elsewhere.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

# At first boot the distribution's own jobs may hold the lock.
apt() { apt-get -o DPkg::Lock::Timeout=600 "$@"; }

install_packages() { apt install --quiet --yes --no-install-recommends "$@"; }

install_missing() {
    local package missing=()
    for package in "$@"; do
        dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -x installed >/dev/null ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    apt update --quiet
    install_packages "${missing[@]}"
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
