#!/usr/bin/env bash
# Leaves the metadata service to root: whoever gets an answer acts as the machine, and the machine may read Slurm's key.
# In place before anybody can log in, and at every boot before the network is up.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"
# shellcheck source=service.sh
. "$here/service.sh"
# shellcheck source=packages.sh
. "$here/packages.sh"

if ! command -v nft >/dev/null; then install_missing nftables; fi

# A table of its own: Docker and Podman cannot put an `accept` of theirs before it. Its rules are for TCP except port 53,
# since Azure and Google Cloud answer names at the same addresses. What is forwarded comes from a container with a network
# of its own, where any user may be root. 168.63.129.16 is Azure's wire server; fd00:ec2::254 AWS's and fd20:ce::254
# Google's address in IPv6. The owner of a socket is who opened it, in the machine's own numbering of users.
rules=/etc/gpu-cluster/metadata.nft
install_text "$rules" 0644 <<'CONF'
table inet gpu_cluster
delete table inet gpu_cluster
table inet gpu_cluster {
    chain refuse {
        tcp dport 53 accept
        ip daddr { 169.254.169.254, 168.63.129.16 } meta l4proto tcp reject with tcp reset
        ip6 daddr { fd00:ec2::254, fd20:ce::254 } meta l4proto tcp reject with tcp reset
    }
    chain output {
        type filter hook output priority -300
        meta skuid != 0 jump refuse
    }
    chain forward {
        type filter hook forward priority -300
        jump refuse
    }
}
CONF
if has_systemd; then
    CHANGED=no
    # Without the rules nobody logs in and no job runs.
    install_text /etc/systemd/system/gpu-cluster-metadata.service 0644 <<CONF
[Unit]
Description=Metadata service for root alone
DefaultDependencies=no
Wants=network-pre.target
Before=network-pre.target ssh.service slurmd.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f $rules
[Install]
WantedBy=sysinit.target
RequiredBy=ssh.service slurmd.service
CONF
    if [ "$CHANGED" = yes ]; then
        systemctl daemon-reload
        systemctl enable --quiet gpu-cluster-metadata.service
    fi
fi
nft -f "$rules"
