#!/usr/bin/env bash
# users_directory_local.sh PATH reads|alone: on premises settings and password of the directory are files. Nobody but root may
# have a say in who becomes root, and of the password (alone) nobody else may read a letter.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"

# only_root PATH MODE BITS: BITS are those that nobody but root may have.
only_root() {
    if [ ! -e "$1" ]; then return 0; fi
    if [ -L "$1" ] || [ "$(stat --format=%u "$1")" != 0 ] || [ -n "$(find "$1" -maxdepth 0 -perm "$3")" ]; then
        fail "$1 has to belong to root, mode $2: it says who becomes root" 3
    fi
}

only_root "$(dirname "$1")" 0755 /022
if [ "$2" = alone ]; then only_root "$1" 0600 /077; else only_root "$1" 0644 /022; fi
