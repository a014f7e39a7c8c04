#!/usr/bin/env bash
# Makes the namespaces it runs in look like a freshly installed machine: own host name, own writable /etc, /var and /run.
# Usage: machine.sh NAME ENV-FILE HOSTS-FILE; prints "ready" and stays until it is killed, and with it all its processes.
set -euo pipefail
mount -t tmpfs tmpfs /mnt
for folder in etc var; do
    mkdir -p "/mnt/$folder/upper" "/mnt/$folder/work"
    mount -t overlay overlay -o "lowerdir=/$folder,upperdir=/mnt/$folder/upper,workdir=/mnt/$folder/work" "/$folder"
done
mount -t tmpfs tmpfs /run
hostname "$1"
ip link set lo up
install -D --mode=0644 "$2" /etc/gpu-cluster/node.env
cp "$3" /etc/hosts
printf 'ready\n'
exec sleep infinity
