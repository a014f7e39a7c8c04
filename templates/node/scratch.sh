#!/usr/bin/env bash
# Local NVMe disks as one RAID 0 file system under the scratch path. What is on it is lost with the instance.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"

label=gpu-scratch
path="$CLUSTER_SCRATCH_PATH"
mkdir -p "$path"
if mountpoint --quiet "$path"; then exit 0; fi

mount_scratch() {
    mount --options noatime "$1" "$path"
    chmod 1777 "$path"
}

# After a reboot the array is assembled by the system and found by its label.
if existing="$(blkid --label "$label")"; then
    mount_scratch "$existing"
    exit 0
fi
# AWS deep learning images join the disks themselves.
if mountpoint --quiet /opt/dlami/nvme; then
    mount --bind /opt/dlami/nvme "$path"
    chmod 1777 "$path"
    exit 0
fi

# The model tells a local disk from a network disk, which is NVMe as well on all three clouds.
case "$CLUSTER_CLOUD" in
aws) model='^Amazon EC2 NVMe Instance Storage' ;;
azure) model='^Microsoft NVMe Direct Disk' ;;
gcp) model='^nvme_card[0-9]*[[:space:]]*$' ;;
*)
    chmod 1777 "$path"
    exit 0
    ;;
esac
disks=()
while read -r disk name; do
    [[ "$name" =~ $model ]] || continue
    # A disk with a file system, a partition or a holder is somebody's.
    if [ "$(lsblk --noheadings --output NAME "$disk" | wc -l)" -eq 1 ] && ! blkid "$disk" >/dev/null; then
        disks+=("$disk")
    fi
done < <(lsblk --nodeps --noheadings --output PATH,MODEL)

case ${#disks[@]} in
0)
    say "no free local NVMe disk: $path is on the system disk"
    chmod 1777 "$path"
    exit 0
    ;;
1) volume="${disks[0]}" ;;
*)
    volume=/dev/md/gpu-scratch
    mdadm --create "$volume" --run --level=0 --raid-devices=${#disks[@]} "${disks[@]}"
    ;;
esac
mkfs.xfs -q -L "$label" "$volume"
mount_scratch "$volume"
