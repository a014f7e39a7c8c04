#!/usr/bin/env bash
# Fetches Megatron-LM: fetch_megatron.sh FOLDER SOURCE COMMIT. Nothing is done where FOLDER holds it; it appears there whole.
# Status: 1 = not fetched, the reason is printed.
set -euo pipefail

[ $# -eq 3 ] || { echo "usage: $0 FOLDER SOURCE COMMIT" >&2 && exit 2; }
folder="$1" source="$2" commit="$3"
[ ! -r "$folder/pretrain_gpt.py" ] || exit 0
command -v git >/dev/null || { echo "there is no git here to fetch Megatron-LM with" >&2 && exit 1; }
# An empty folder is somebody's preparation; anything else is not replaced.
if [ -e "$folder" ] && ! rmdir "$folder" 2>/dev/null; then
    echo "$folder is there and holds no pretrain_gpt.py: choose another folder, or remove it" >&2
    exit 1
fi
mkdir -p "${folder%/*}"
part=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$part"' EXIT
chmod 755 "$part"
# By its commit, which git verifies: a tag could be moved.
git -C "$part" init --quiet
git -C "$part" fetch --quiet --depth 1 "$source" "$commit"
git -C "$part" checkout --quiet "$commit"
# Renamed when it is complete: others may be waiting for it. Whoever comes second leaves the first one's.
mv -T "$part" "$folder" 2>/dev/null || [ -r "$folder/pretrain_gpt.py" ]
