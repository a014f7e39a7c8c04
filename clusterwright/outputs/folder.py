"""Writing a folder of deliverables so that nothing is half-written and nothing of the user's is lost.

A new folder is written beside its place and renamed into it. Into an existing one, everything is checked first: files
that the user changed since they were written stop the write unless it is forced; then files are replaced one by one and
the manifest last, so that a second run finishes an interrupted one.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from clusterwright.errors import InputError

#: Lies in the user's own project too, so it does not carry our name.
MANIFEST = ".written.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """One deliverable: its bytes, and whether it is a program."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a write did: the folder, how many files it holds, and how many of them changed."""

    folder: Path
    files: int
    changed: int


def text(content: str) -> File:
    """Return a text file's record, UTF-8, ending in one newline."""
    return File(content=(content.rstrip("\n") + "\n").encode())


def write(folder: Path, files: Mapping[str, File], *, force: bool = False) -> Written:
    """Write `files` (relative POSIX path to record) into `folder`.

    Args:
        folder: made if missing.
        files: everything the folder shall hold; files of an earlier write that are no longer named are removed.
        force: replace files even if the user changed them. Files that were never written here are always kept.

    Raises:
        InputError: the folder cannot be written, is not ours, or holds changes of the user.
    """
    for name in files:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or name == MANIFEST:
            raise ValueError(f"{name!r} would leave the folder")
    try:
        if not folder.exists():
            return _create(folder, files)
        if not folder.is_dir():
            raise InputError(f"{folder} is a file", help="name another folder with -o")
        return _update(folder, files, force=force)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror or error}",
            help="name a folder that you may write to with -o",
        ) from None


def add(path: Path, content: bytes) -> None:
    """Write one file beside those of an earlier write, whole or not at all; later writes keep it.

    Raises:
        InputError: it cannot be written.
    """
    try:
        _replace(path, File(content=content))
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}", help="name a folder that you may write to"
        ) from None


def _create(folder: Path, files: Mapping[str, File]) -> Written:
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.partial-", dir=folder.parent))
    try:
        partial.chmod(0o755)
        for name, file in files.items():
            _replace(partial / name, file)
        _replace(partial / MANIFEST, _manifest(files))
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Written(folder=folder, files=len(files), changed=len(files))


def _update(folder: Path, files: Mapping[str, File], *, force: bool) -> Written:
    recorded = _recorded(folder)
    if recorded is None:
        if not force and any(folder.iterdir()):
            raise InputError(
                f"{folder} holds files that Clusterwright did not write",
                help="name an empty or new folder with -o, or add --force to write beside them",
            )
        recorded = {}
    now = {name: _hash_of(folder / name) for name in {*recorded, *files}}
    wanted = {name: _hash(file.content) for name, file in files.items()}
    touched = sorted(
        name for name, found in now.items() if found is not None and found not in (recorded.get(name), wanted.get(name))
    )
    if touched and not force:
        shown = ", ".join(touched[:5]) + (f" and {len(touched) - 5} more" if len(touched) > 5 else "")  # noqa: PLR2004
        raise InputError(
            f"{folder}: changed since they were written: {shown}",
            help="keep your changes by naming another folder with -o, or replace them with --force",
        )
    changed = 0
    for name, file in files.items():
        if now[name] != wanted[name]:
            _replace(folder / name, file)
            changed += 1
    for name in recorded.keys() - files.keys():
        if now[name] is not None:
            (folder / name).unlink()
            changed += 1
    _replace(folder / MANIFEST, _manifest(files))
    return Written(folder=folder, files=len(files), changed=changed)


def _recorded(folder: Path) -> dict[str, str] | None:
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        files = json.loads(path.read_text())["files"]
        return {str(name): str(digest) for name, digest in files.items() if ".." not in PurePosixPath(name).parts}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path} is damaged, so that your changes cannot be told from ours",
            help="name another folder with -o, or remove the file and add --force",
        ) from None


def _manifest(files: Mapping[str, File]) -> File:
    hashes = {name: _hash(file.content) for name, file in sorted(files.items())}
    return text(json.dumps({"schema": 1, "files": hashes}, indent=1))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_of(path: Path) -> str | None:
    return _hash(path.read_bytes()) if path.is_file() else None


def _replace(path: Path, file: File) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(file.content)
        Path(name).chmod(0o755 if file.executable else 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
