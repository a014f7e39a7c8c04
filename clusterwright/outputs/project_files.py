"""The files of a cloud's project that no plan changes: overlays of `stacks/`, laid over each other.

What is the same everywhere, then the scheduler, the cloud, and the scheduler on that cloud; for Slurm also the boot
scripts. A path belongs to one overlay, so that it is plain which file a user gets. Lists of requirements are the
exception: each overlay adds its own.
"""

from collections.abc import Iterator
from pathlib import Path

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.outputs.folder import File, text

SCHEDULERS = ("slurm", "kubernetes")

_SKIPPED = ("__pycache__", ".pytest_cache", ".ruff_cache", ".venv", ".venv-policy")
#: Written one below the other where several overlays have them.
_JOINED = ("requirements.txt", "requirements-dev.txt", "README.md")
_OTHER_PLACES = ("aws", "azure", "gcp", "local")


def project_files(cloud: str, scheduler: str) -> dict[str, File]:
    """Return the files by path within the project.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        scheduler: `slurm` or `kubernetes`.

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
    return dict(sorted(files.items()))


def _overlaid(cloud: str, scheduler: str) -> Iterator[tuple[str, str, File]]:
    root = assets.root()
    for overlay in ("every_cloud", scheduler, f"{cloud}/base", f"{cloud}/{scheduler}"):
        for path, file in copied(root / "stacks" / overlay).items():
            yield f"stacks/{overlay}", path, file
    if scheduler == "slurm":
        foreign = {f"secret_{place}.sh" for place in _OTHER_PLACES} - {f"secret_{cloud}.sh"}
        for path, file in copied(root / "templates" / "node").items():
            if path not in foreign:
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
