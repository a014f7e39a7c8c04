"""Read a project from its folder."""

import hashlib
import json
from pathlib import Path

from clusterwright.checks.preflight.files.project import Project, project_of
from clusterwright.errors import InputError

_SKIPPED = {".git", ".venv", ".venv-policy", "__pycache__", "node_modules", ".pytest_cache", ".ruff_cache", ".pulumi"}
_MOST_BYTES = 1_000_000
_MOST_FILES = 5_000


def read_project(folder: Path, *, manifest: str, stack: str | None = None) -> Project:
    """Read a project from a folder.

    Args:
        folder: that holds foundation/, cluster/ and nodes/.
        manifest: name of the file that was written beside the project's, with the hash of each.
        stack: which one, where there are several.

    Raises:
        InputError: the folder cannot be read, or is no project.
    """
    files: dict[str, str] = {}
    raw: dict[str, bytes] = {}
    try:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if any(part in _SKIPPED or part.endswith(".egg-info") for part in name.parts) or not path.is_file():
                continue
            if len(raw) >= _MOST_FILES:
                raise InputError(f"{folder} holds more than {_MOST_FILES} files", help="name the project's own folder")
            if path.stat().st_size > _MOST_BYTES:
                continue
            raw[name.as_posix()] = path.read_bytes()
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}") from None
    for file, content in raw.items():
        try:
            files[file] = content.decode("utf-8")
        except UnicodeDecodeError:
            continue
    return project_of(str(folder), files, stack=stack, changed=_changed(folder, raw, manifest))


def _changed(folder: Path, raw: dict[str, bytes], manifest: str) -> frozenset[str] | None:
    """Return which files differ from what was written, None where no record of that is found."""
    for place, prefix in ((folder, ""), (folder.parent, f"{folder.resolve().name}/")):
        recorded = _recorded(place / manifest)
        if recorded is None:
            continue
        ours = {name.removeprefix(prefix): digest for name, digest in recorded.items() if name.startswith(prefix)}
        if not ours:
            continue
        now = {name: hashlib.sha256(content).hexdigest() for name, content in raw.items()}
        return frozenset(name for name, digest in ours.items() if now.get(name, digest) != digest)
    return None


def _recorded(path: Path) -> dict[str, str] | None:
    try:
        files = json.loads(path.read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return {str(name): str(digest) for name, digest in files.items()} if isinstance(files, dict) else None
