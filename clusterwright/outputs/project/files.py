"""The files of a cloud's project that no plan changes: overlays of `stacks/`, laid over each other.

What is the same everywhere, then the scheduler, the cloud, and the scheduler on that cloud; then the boot scripts, of
which pods of Kubernetes run a few. A path belongs to one overlay, so that it is plain which file a user gets. Lists of
requirements are the exception: each overlay adds its own.
"""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ruamel.yaml import YAML

from clusterwright import __version__, assets, directory_settings, user_list
from clusterwright.errors import ClusterwrightError
from clusterwright.outputs.folder import File, text

SCHEDULERS = ("slurm", "kubernetes")

_SKIPPED = ("__pycache__", ".pytest_cache", ".ruff_cache", ".venv", ".venv-policy")
#: Written one below the other where several overlays have them.
_JOINED = ("requirements.txt", "requirements-dev.txt", "README.md")
_WORKFLOW = ".github/workflows/infrastructure.yml"
#: What is in the workflow for the cloud's own condition and step.
_CONDITION, _STEP = "LOG_IN_IS_SET", "      - uses: ./log-in"
#: What is in it for the version that the pull request's cost is made with.
_VERSION = "CLUSTERWRIGHT_VERSION"
_OF_ONE_CLOUD = ("bucket", "metric", "secret", "transport", "users_directory")
_OTHER_PLACES = ("aws", "azure", "gcp", "local")
#: Begin of the names of scripts that join a machine to a directory.
_OF_DIRECTORY = "node/users_directory"
#: Entry of a machine's boot, and its step after which a directory is joined.
_BOOT, _USERS_STEP = "node/bootstrap.sh", 'bash "$here/users.sh"\n'
#: What Slurm's node says of itself, and the end of Slurm's partition: both differ in NVLink domains of several nodes.
_NODE, _FEATURE = "node/compute.sh", 'description="Feature=$CLUSTER_PARTITION"'
_SLURM, _PARTITION_END = "node/slurm_conf.sh", 'State=UP"'
#: Boot scripts that a pod of Kubernetes runs too, beside the one that publishes its cloud's metric.
_OF_PODS = (".shellcheckrc", "busy_gpus.sh", "http.sh")


@dataclass(frozen=True, kw_only=True, slots=True)
class LogIn:
    """A cloud's log-in within a workflow.

    Attributes:
        condition: whether the repository is set up for it; steps: as YAML; variables: their names, in words.
    """

    condition: str
    steps: str
    variables: str


def project_files(
    cloud: str, scheduler: str, *, with_directory: bool = False, with_domains: bool = False
) -> dict[str, File]:
    """Return the files by path within the project.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        scheduler: `slurm` or `kubernetes`.
        with_directory: whether machines of Slurm are joined to a directory. Those of other projects keep the boot
            scripts that they have: a script that changes replaces nodes.
        with_domains: whether NVLink joins GPUs of several nodes, which Slurm's jobs then use by IMEX.

    Raises:
        ClusterwrightError: two overlays hold the same path.
    """
    files: dict[str, File] = {}
    for overlay, path, file in _overlaid(cloud, scheduler):
        if path not in files:
            files[path] = file
        elif path in _JOINED:
            files[path] = text(
                f"{files[path].content.decode()}{'' if path.endswith('.txt') else chr(10)}{file.content.decode()}"
            )
        else:
            raise ClusterwrightError(
                f"{overlay} holds {path}, which another overlay of the project holds too",
                help="this is a mistake in Clusterwright's stacks; please report it",
            )
    if with_directory and scheduler == "slurm":
        files[_BOOT] = _with_directory(files[_BOOT])
    else:
        files = {path: file for path, file in files.items() if not path.startswith(_OF_DIRECTORY)}
    # On Google Cloud the fabric has a transport of its own, and the stack refuses nodes in such domains (a4x).
    if with_domains and scheduler == "slurm" and f"node/transport_{cloud}.sh" not in files:
        files |= _with_domains(files, cloud)
    if _WORKFLOW in files:
        files[_WORKFLOW] = _with_log_in(files[_WORKFLOW], cloud)
    return dict(sorted(files.items()))


def log_in(cloud: str) -> LogIn:
    """Return how a workflow gets the cloud's credentials without a stored key."""
    entries = YAML(typ="safe").load(assets.root() / "stacks" / cloud / "log_in.yaml")
    return LogIn(condition=entries["if"], steps=entries["steps"], variables=entries["variables"])


def _with_directory(boot: File) -> File:
    written = boot.content.decode()
    step = _USERS_STEP.replace("users", "users_directory")
    return replace(boot, content=written.replace(_USERS_STEP, _USERS_STEP + step).encode())


def _with_domains(files: Mapping[str, File], cloud: str) -> dict[str, File]:
    """Return the scripts of NVLink domains, and those that they change.

    A node says its domain to Slurm. Jobs get whole nodes: the daemon knows the nodes of one job.
    """
    ours = copied(assets.root() / "templates" / "nvlink")
    changes = {
        _NODE: (_FEATURE, f'{_FEATURE[:-1]},$(bash "$transport" domain)"'),
        _SLURM: (_PARTITION_END, f"OverSubscribe=EXCLUSIVE {_PARTITION_END}"),
    }
    changed = {
        path: replace(files[path], content=files[path].content.decode().replace(*change).encode())
        for path, change in changes.items()
    }
    return changed | {f"node/{name.replace('transport', f'transport_{cloud}')}": file for name, file in ours.items()}


def _with_log_in(workflow: File, cloud: str) -> File:
    how = log_in(cloud)
    steps = textwrap.indent(how.steps.rstrip("\n"), " " * 6)
    written = workflow.content.decode()
    return text(written.replace(_CONDITION, how.condition).replace(_STEP, steps).replace(_VERSION, __version__))


def kept_example(path: str) -> str:
    """Return where a project keeps a file: a layer's example goes to the tests, whose base case it is."""
    layer, _, name = path.partition("/")
    return f"tests/example/{layer}.yaml" if name == "Pulumi.example.yaml" else path


def _overlaid(cloud: str, scheduler: str) -> Iterator[tuple[str, str, File]]:
    root = assets.root()
    for overlay in ("every_cloud", scheduler, f"{cloud}/base", f"{cloud}/{scheduler}"):
        for path, file in copied(root / "stacks" / overlay).items():
            yield f"stacks/{overlay}", path, file
    if scheduler == "slurm":
        for rules in (user_list, directory_settings):
            copy = Path(str(rules.__file__))
            yield "clusterwright", f"gpu_cluster/{copy.name}", File(content=copy.read_bytes())
    foreign = {f"{kind}_{place}.sh" for kind in _OF_ONE_CLOUD for place in _OTHER_PLACES if place != cloud}
    for path, file in copied(root / "templates" / "node").items():
        if path not in foreign if scheduler == "slurm" else path in (*_OF_PODS, f"metric_{cloud}.sh"):
            yield "templates/node", f"node/{path}", file


def copied(folder: Path) -> dict[str, File]:
    """Return the files below a folder, without caches and environments."""
    return {
        path.relative_to(folder).as_posix(): File(
            content=path.read_bytes(), executable=bool(path.stat().st_mode & 0o100)
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(_is_cache(part) for part in path.relative_to(folder).parts)
    }


def _is_cache(part: str) -> bool:
    return part in _SKIPPED or part.endswith(".egg-info")
