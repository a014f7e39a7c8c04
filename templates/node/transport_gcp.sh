#!/usr/bin/env bash
# NCCL's ways to GCP's GPU networks. `setup` at boot: plugin and pulled images; `start` and `stop` by Slurm's prolog and epilog:
# the receive data path manager, which GPUDirect-TCPX and TCPXO need for as long as the job runs.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"
# shellcheck source=service.sh
. "$here/service.sh"
# shellcheck source=http.sh
. "$here/http.sh"
# Credentials stay in memory.
export DOCKER_CONFIG=/run/gpu-cluster/docker
topology=/opt/tcpdirect_benchmark/gpu_rxq_configuration.textproto
sockets="/run/tcpx-${SLURM_JOB_ID:-}"
container="receive-datapath-manager-${SLURM_JOB_ID:-}"
helper="$CLUSTER_DEVICES/dmabuf_import_helper"

image() {
    local version source reference
    software "$1"
    printf '%s' "$source:$reference"
}

log_in() {
    local metadata="${CLUSTER_METADATA_URL:-http://metadata.google.internal}" grant
    grant="$(http GET "$metadata/computeMetadata/v1/instance/service-accounts/default/token" 'Metadata-Flavor: Google')"
    install --directory --mode=0700 "$DOCKER_CONFIG"
    json_field access_token <<<"$grant" |
        docker login --username oauth2accesstoken --password-stdin https://us-docker.pkg.dev >/dev/null 2>&1
}

# install_plugin NAME HOST-FOLDER CONTAINER-FOLDER [OPTION]: the image's own installer, once for each version.
install_plugin() {
    local from stamp
    from="$(image "$1")"
    stamp="/var/lib/gpu-cluster/$1"
    if [ "$(cat "$stamp" 2>/dev/null)" = "$from" ]; then return 0; fi
    wait_for "the image $from" docker pull --quiet "$from"
    mkdir -p "$2" "$(dirname "$stamp")"
    docker run --rm --network=host --volume "$2:$3" "$from" install "${@:4}"
    printf '%s\n' "$from" >"$stamp"
}

# The adapters' low-latency memory: Google's PCI device 0084, at the place where NCCL's settings look for it.
open_apertures() {
    local device folder
    for device in "$CLUSTER_SYSFS"/bus/pci/devices/*; do
        if [ "$(cat "$device/vendor" "$device/device" 2>/dev/null)" != $'0x1ae0\n0x0084' ]; then continue; fi
        folder="$CLUSTER_DEVICES/aperture_devices/${device##*/}"
        mkdir -p "$folder"
        mountpoint --quiet "$folder" || mount --bind "$device" "$folder"
        chmod 0666 "$folder"/resource*
    done
}

setup() {
    case "$CLUSTER_FABRIC" in
    tcpx)
        [[ "$(uname -r)" == *tcpx* ]] ||
            fail "the kernel $(uname -r) is not linux-gcp-tcpx, without which GPUDirect-TCPX does not work: nodeType.image has to be an image of yours with it" 3
        [ -s "$topology" ] ||
            fail "the image lacks $topology, which says what GPU has which receive queues; Google's recipe for a3-highgpu-8g writes it" 3
        ;;
    tcpxo)
        modprobe import-helper 2>/dev/null || true
        [ -e "$helper" ] ||
            fail "the image lacks the kernel module import-helper (package dmabuf-import-helper), without which GPUDirect-TCPXO does not work: build it into nodeType.image" 3
        open_apertures
        ;;
    roce) ;;
    *) return 0 ;;
    esac
    command -v docker >/dev/null || install_missing docker.io
    has_systemd && systemctl start docker
    wait_for "Artifact Registry" log_in
    case "$CLUSTER_FABRIC" in
    tcpx)
        install_plugin tcpx-plugin /var/lib /var/lib
        in_containers 50-transport /var/lib/tcpx "/run/tcpx-\${SLURM_JOB_ID}"
        ;;
    tcpxo)
        install_plugin tcpxo-plugin /var/lib /var/lib --install-nccl
        in_containers 50-transport /var/lib/tcpxo
        ;;
    roce)
        install_plugin gib-plugin /usr/local/gib /var/lib/gib --install-nccl
        in_containers 50-transport /usr/local/gib
        return 0
        ;;
    esac
    wait_for "the image $(image "$CLUSTER_FABRIC-manager")" docker pull --quiet "$(image "$CLUSTER_FABRIC-manager")"
}

run_manager() {
    docker run --detach --rm --name "$container" --network=host --privileged --cap-add=NET_ADMIN --gpus all \
        --ulimit memlock=-1 --volume /var/lib/nvidia/lib64:/usr/local/nvidia/lib64 "$@" >/dev/null ||
        fail "the data path manager of $CLUSTER_FABRIC does not start"
}

# Jobs on one node talk over NVLink alone.
start() {
    if [ "${SLURM_JOB_NUM_NODES:-2}" -eq 1 ]; then return 0; fi
    case "$CLUSTER_FABRIC" in
    tcpx)
        mkdir -p "$sockets"
        run_manager --volume "${topology%/*}:${topology%/*}" --volume "$sockets:$sockets" \
            --env LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/run/tcpx:/usr/lib/lib32:/usr/lib/x86_64-linux-gnu/ \
            --entrypoint /tcpgpudmarxd/build/app/tcpgpudmarxd "$(image tcpx-manager)" \
            --gpu_nic_preset manual --gpu_nic_topology "$topology" --gpu_shmem_type fd --uds_path "$sockets"
        wait_within "is not ready" listens
        ;;
    tcpxo)
        run_manager --volume "$helper:/dev/dmabuf_import_helper" --env LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu \
            "$(image tcpxo-manager)" --num_hops=2 --num_nics=8
        wait_within "is not ready" initialized
        ;;
    esac
}

listens() { [ -n "$(find "$sockets" -type s -print -quit)" ]; }
initialized() { docker container logs "$container" 2>&1 | grep 'Buffer manager initialization complete' >/dev/null; }

# Google's own prolog gives up after two minutes.
wait_within() {
    local deadline=$((SECONDS + ${CLUSTER_TRANSPORT_WAIT_S:-120}))
    until "$2"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "the data path manager of $CLUSTER_FABRIC $1"
        sleep 0.5
    done
}

stop() {
    case "$CLUSTER_FABRIC" in
    tcpx | tcpxo)
        docker container stop "$container" >/dev/null 2>&1 || true
        rm -rf "$sockets"
        ;;
    esac
}

"$1"
