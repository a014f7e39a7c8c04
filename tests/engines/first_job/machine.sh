#!/usr/bin/env bash
# A machine of its own on this host's files: every write stays in memory, /dev has the devices named, and nothing of the host's
# network is there. Usage: machine.sh NAME FOLDER DEVICE...; FOLDER/files is laid over the root, FOLDER/shared is the file system
# that all machines mount. Prints "ready" and stays until it is killed, and with it all its processes.
set -euo pipefail
name="$1" folder="$2"
shift 2
mount -t tmpfs tmpfs /mnt
mkdir -p /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
root=/mnt/root
mount --rbind /sys "$root/sys"
# Slurm's groups have the same names on every machine; those of this one are beside the others'.
for group in ${CONTROL_GROUPS:-}; do
    groups="$root/sys/fs/cgroup/$group"
    mkdir -p "$groups/slurm" "$groups/$CONTROL_GROUP"
    mount --bind "$groups/$CONTROL_GROUP" "$groups/slurm"
done
mount -t proc proc "$root/proc"
for memory in run tmp; do
    mount -t tmpfs tmpfs "$root/$memory"
done
chmod 1777 "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
for device in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod --mode=0666 "$root/dev/${device%:*}" c 1 "${device#*:}"
done
ln -s /proc/self/fd "$root/dev/fd"
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${stream%:*}" "$root/dev/${stream#*:}"; done
mkdir "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
# Slurm asks for character devices; 195 is the number of NVIDIA's driver, which is not needed.
number=0
for device in "$@"; do
    mknod --mode=0666 "$root/dev/$device" c 195 "$number"
    number=$((number + 1))
done
cp --recursive --no-preserve=ownership "$folder/files/." "$root/"
# What the stand-in for the cloud's file system mounts.
mkdir -p "$root/srv/shared" "$root/srv/site"
mount --bind "$folder/shared" "$root/srv/shared"
mount --bind "$folder/site" "$root/srv/site"
hostname "$name"
ip link set lo up
# Not chroot: the kernel refuses user namespaces, which containers need, to whoever is in one.
mkdir -p "$root/mnt/host"
cd "$root"
pivot_root . mnt/host
umount --lazy /mnt/host
printf 'ready\n'
# As init does, this shell takes in the processes that others left.
while true; do
    sleep 1000 &
    wait $!
done
