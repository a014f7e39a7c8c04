#!/usr/bin/env bash
# Removes Megatron-LM checkpoints that retention does not keep: retain_checkpoints.sh FOLDER LATEST MILESTONE_STEPS
# Kept are the LATEST complete ones, and every one whose step is a multiple of MILESTONE_STEPS (0 for none). Nothing else
# in FOLDER is touched, and nothing newer than the last complete checkpoint, which may still be written.
set -euo pipefail

[ $# -eq 3 ] || { echo "usage: $0 FOLDER LATEST MILESTONE_STEPS" >&2 && exit 2; }
folder="$1" latest="$2" milestone="$3"
[[ "$latest" =~ ^[1-9][0-9]*$ && "$milestone" =~ ^[0-9]+$ ]] || {
    echo "error: LATEST is 1 or more, MILESTONE_STEPS is 0 or more" >&2
    exit 2
}
tracker="$folder/latest_checkpointed_iteration.txt"
[ -r "$tracker" ] || exit 0
complete="$(tr -d '[:space:]' <"$tracker")"
[[ "$complete" =~ ^[0-9]+$ ]] || exit 0

steps=()
for path in "$folder"/iter_*; do
    name="${path##*/iter_}"
    if [ -d "$path" ] && [ ! -L "$path" ] && [[ "$name" =~ ^[0-9]{7,}$ ]] && [ "$((10#$name))" -le "$((10#$complete))" ]; then
        steps+=("$name")
    fi
done
# The shell sorts names with as many digits; more than 9,999,999 steps have more.
mapfile -t steps < <(printf '%s\n' "${steps[@]}" | sort -n)
last=$((${#steps[@]} - latest))
for ((index = 0; index < last; index++)); do
    name="${steps[index]}"
    if [ "$milestone" -gt 0 ] && [ $((10#$name % milestone)) -eq 0 ]; then continue; fi
    rm -rf -- "${folder:?}/iter_$name"
done
