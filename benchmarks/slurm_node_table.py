"""Memory and time of Slurm's controller by the places for nodes: `python benchmarks/slurm_node_table.py [SIZE...]`.

Method: for each size, the installed slurmctld in namespaces of its own, with the slurm.conf of a cluster of dynamic
nodes and that `MaxNodeCount`. Printed are its resident memory (`VmRSS` of /proc) once it answers `scontrol ping`, after
`scontrol create` of 64 dynamic nodes, and with 200 jobs waiting for all of them; and the mean time of a cycle of the
main and of the backfill scheduler by `sdiag`. Needs Linux, root and Slurm.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (128, 1024, 4096, 16_384, 65_533)
NODES, JOBS = 64, 200
CONFIGURATION = """\
ClusterName=measure
SlurmctldHost=head(10.77.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmctldParameters=enable_configless
MaxNodeCount={size}
TreeWidth=65533
PrivateData=cloud
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeSet=gpu Feature=gpu
PartitionName=gpu Nodes=gpu Default=YES MaxTime=INFINITE State=UP
"""
SCRIPT = """
set -e
hostname head
mount --bind {folder}/hosts /etc/hosts
ip link set lo up
ip address add 10.77.0.1/32 dev lo
export SLURM_CONF={folder}/slurm.conf
slurmctld -D -c >&2 &
resident() {{ awk '/^VmRSS/ {{ print $2 }}' /proc/$!/status; }}
for _ in $(seq 100); do scontrol ping 2>/dev/null | grep -q 'is UP' && break; sleep 0.2; done
resident
scontrol create NodeName=n[1-{nodes}] CPUs=192 RealMemory=2000000 Gres=gpu:h100:8 Feature=gpu State=CLOUD >&2
scontrol update NodeName=n[1-{nodes}] State=DOWN Reason=measure >&2
scontrol show node n{nodes} >&2
resident
for _ in $(seq {jobs}); do sbatch --quiet --nodes={nodes} --gpus-per-node=8 --output=/dev/null --wrap=true >&2; done
sleep 35
[ "$(squeue --noheader | wc -l)" = {jobs} ]
resident
sdiag | awk '/Mean cycle:/ {{ print $3 }}'
kill $!
"""


def measured(size: int) -> tuple[int, ...]:
    """Return resident KiB when empty, with nodes, with jobs; then the mean microseconds of both scheduling cycles."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "state").mkdir()
        (folder / "hosts").write_text("127.0.0.1 localhost\n10.77.0.1 head\n")
        (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, size=size))
        spaces = ["unshare", "--mount", "--uts", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        script = SCRIPT.format(folder=folder, nodes=NODES, jobs=JOBS)
        result = subprocess.run([*spaces, "bash", "-c", script], capture_output=True, text=True, check=False)
        found = tuple(int(amount) for amount in re.findall(r"^\d+$", result.stdout, re.MULTILINE))
        if result.returncode or len(found) < 4:  # noqa: PLR2004 - three of memory, one or two of time
            raise SystemExit(f"slurmctld with MaxNodeCount={size}: {result.stdout}{result.stderr[-2000:]}")
    return found


def main() -> None:
    """Print a row for each size."""
    print(subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.strip())
    print(f"{'MaxNodeCount':>12} {'empty':>11} {f'{NODES} nodes':>11} {f'{JOBS} jobs':>11}   mean cycle")
    for size in [int(given) for given in sys.argv[1:]] or SIZES:
        *memory, _ = (*measured(size), 0)
        kib, cycles = memory[:3], memory[3:]
        print(f"{size:>12,}", *(f"{amount / 1024:>7.1f} MiB" for amount in kib), " ", *(f"{us} us" for us in cycles))


if __name__ == "__main__":
    main()
