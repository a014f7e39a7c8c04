"""Jobs as they start: their scripts run with stand-ins for Slurm and for the programs of the job."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from clusterwright.checks.preflight.trials.machine import Call, Machine, Ran

#: Start the processes of a job, or serve.
PROGRAMS = ("torchrun", "vllm", "trtllm-serve", "accelerate", "tune", "deepspeed", "python3", "python", "mpirun")
_SBATCH = re.compile(r"(?m)^#SBATCH[ \t]+(.*)$")
_SHORT = {
    "-N": "nodes",
    "-n": "ntasks",
    "-c": "cpus-per-task",
    "-G": "gpus",
    "-t": "time",
    "-p": "partition",
    "-o": "output",
    "-J": "job-name",
    "-a": "array",
    "-D": "chdir",
    "-A": "account",
    "-w": "nodelist",
    "-x": "exclude",
    "-C": "constraint",
}
_TIMEOUT_S = 60
#: Set by the files in which plugins of a fabric have their own settings.
SOURCED = "TRIAL_PROFILE"
_PROFILES = ("/usr/local/gib/scripts/set_nccl_env.sh", "/var/lib/tcpxo/lib64/nccl-env-profile.sh")
IMAGE = "registry.example/trainer:1"


@dataclass(frozen=True, kw_only=True)
class Started:
    """What a script started.

    Attributes:
        ran: what the script did.
        program: name and arguments of the job's program, None where none was started.
        environment: of that program.
        steps: calls of `srun`, in order.
    """

    ran: Ran
    program: Call | None
    environment: Mapping[str, str]
    steps: tuple[Call, ...]


def directives(script: str) -> dict[str, str]:
    r"""Return the options of `#SBATCH`, by their long names; one without a value is there with none.

    >>> directives("#SBATCH -N 4 --exclusive\n#SBATCH --gres=gpu:8 # all")
    {'nodes': '4', 'exclusive': '', 'gres': 'gpu:8'}
    """
    found: dict[str, str] = {}
    for line in _SBATCH.findall(script):
        words = re.sub(r"\s#.*", "", line).split()
        place = 0
        while place < len(words):
            name, equals, value = words[place].partition("=")
            attached = re.fullmatch(r"(-[A-Za-z])(\S+)", words[place])
            if attached and attached[1] in _SHORT:
                name, equals, value = attached[1], "=", attached[2]
            key = _SHORT.get(name, name.removeprefix("--"))
            if not equals and place + 1 < len(words) and not words[place + 1].startswith("-"):
                place += 1
                value = words[place]
            found.setdefault(key, value.strip("\"'"))
            place += 1
    return found


@lru_cache(maxsize=64)
def started(
    files: frozenset[tuple[str, str]], script: str, values: tuple[tuple[str, str], ...], fault: str
) -> Started | None:
    """Start a job's batch script as Slurm does on the first node of a job.

    Args:
        files: path on the cluster and content of what lies beside the script.
        script: its path.
        values: of the environment that the job is submitted with.
        fault: `program` for a program that fails.
    """
    given = dict(files)
    asked = directives(given[script])
    nodes = asked.get("nodes", "1").partition("-")[0]
    environment = {
        "SLURM_ARRAY_TASK_ID": "0",
        **dict(values),
        "RECORD_PROGRAMS": "yes",
        "TRIAL_USER_ID": "20001",
        "SLURM_JOB_ID": "1",
        "SLURM_JOBID": "1",
        "SLURM_JOB_NAME": "trial",
        "SLURM_JOB_NODELIST": "node-[1-2]",
        "SLURM_NODELIST": "node-[1-2]",
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_NNODES": nodes,
        "SLURM_CPUS_ON_NODE": "96",
        "SLURM_GPUS_ON_NODE": _gpus(asked),
        "SLURM_NTASKS": nodes,
        "SLURM_SUBMIT_DIR": script.rpartition("/")[0],
        "SLURM_ARRAY_JOB_ID": "1",
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURMD_NODENAME": "node-1",
        "SLURM_RESTART_COUNT": "0",
        "SLURM_JOB_USER": "alice",
        "USER": "alice",
    }
    machine = Machine(
        files={
            **given,
            "/shared/Megatron-LM/pretrain_gpt.py": "",
            "/shared/models/trial/config.json": "{}",
            # They set what fits their version; that they were read is all that is asked.
            **dict.fromkeys(_PROFILES, f"export {SOURCED}=yes\n"),
            "/opt/microsoft/ndv5-topo.xml": "",
        },
        folders=("/shared", "/bucket", "/scratch", "/var/lib/tcpx/lib64", "/usr/local/gib/lib64"),
        answers={"kernel": "6.8.0\n", "machine": "x86_64\n", "secret-none": ""},
    )
    ran = machine.run([script], environment=environment, timeout_s=_TIMEOUT_S, faults=fault)
    return None if ran is None else _started(ran)


@lru_cache(maxsize=64)
def started_pod(
    command: tuple[str, ...],
    environment: tuple[tuple[str, str], ...],
    mounts: tuple[str, ...],
    files: tuple[tuple[str, str], ...],
    fault: str,
) -> Started | None:
    """Start a container's command, with the folders of its volumes.

    Args:
        command: with its arguments.
        environment: of the container.
        mounts: paths of its volumes.
        files: path and content of what its volumes hold.
        fault: `program` for a program that fails, which a command that is the program hands on by itself.
    """
    machine = Machine(
        files={
            **{f"{path.rstrip('/')}/Megatron-LM/pretrain_gpt.py": "" for path in mounts if path == "/shared"},
            **{
                profile: f"export {SOURCED}=yes\n"
                for profile in _PROFILES
                if any(profile.startswith(f"{path.rstrip('/')}/") for path in mounts)
            },
            **dict(files),
        },
        folders=mounts,
        answers={"kernel": "6.8.0\n", "machine": "x86_64\n", "secret-none": ""},
    )
    program, *words = command
    if program in dict(files):
        words = [program, *words]
    elif program.rpartition("/")[2] not in ("bash", "sh") or not words:
        if fault:
            return None
        call = Call(program=program.rpartition("/")[2], arguments=tuple(words))
        ran = Ran(status=0, calls=(call,), files={}, said="")
        return Started(ran=ran, program=call, environment=dict(environment), steps=())
    values = {**dict(environment), "RECORD_PROGRAMS": "yes", "JOB_COMPLETION_INDEX": "1", "HOSTNAME": "trial-1"}
    ran_ = machine.run(words, environment=values, timeout_s=_TIMEOUT_S, faults=fault)
    return None if ran_ is None else _started(ran_)


def _started(ran: Ran) -> Started:
    programs = [
        call
        for call in ran.of(*PROGRAMS)
        if call.arguments and call.arguments[0] not in ("-c", "-", "--version", "-V") and call.program != "mpirun"
    ]
    return Started(
        ran=ran,
        program=programs[-1] if programs else None,
        environment=ran.environments[-1] if ran.environments else {},
        steps=ran.of("srun", "mpirun"),
    )


def _gpus(asked: Mapping[str, str]) -> str:
    for name in ("gres", "gpus-per-node", "gpus"):
        count = re.search(r"(?:^|:)(\d+)(?:$|\()", asked.get(name, ""))
        if count:
            return count[1]
    return "1"


def options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of every option, whichever way it is written; one without a value has none.

    >>> list(options(["--a=1", "--b", "2", "c", "--d", "--e_f", "3"]))
    [('a', '1'), ('b', '2'), ('d', ''), ('e-f', '3')]
    """
    for place, word in enumerate(words):
        if not word.startswith("--") or word == "--":
            continue
        name, equals, value = word[2:].partition("=")
        following = words[place + 1] if place + 1 < len(words) else "--"
        yield name.replace("_", "-"), value if equals else "" if following.startswith("--") else following
