"""Writing a folder of deliverables: nothing half-written, nothing of the user's lost, nothing outside the folder.

A new folder is written next to its place and renamed into it. In an existing one everything is checked first, staged in
`.writing/` with a record of what is to come, and then moved into place file by file, the manifest last. A run that was
killed leaves that record, by which the next one tells its own files from the user's and removes what was left over.
Files are reached through the folder's descriptor, never through a symbolic link, and a lock keeps a second run out.
"""

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from clusterwright.errors import InputError

#: Lies in the user's own project too, so it does not carry our name.
MANIFEST = ".written.json"
#: Holds the new files, and the manifest to come, while a folder is rewritten.
_STAGE = ".writing"
#: Ending of a record that is still being written.
_UNFINISHED = ".new"
#: A manifest of 400 files has 40 kB; this is what is read of one that somebody else may have made.
_MANIFEST_BYTES = 16 * 2**20
_SHOWN_NAMES = 5
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """A file written again with what its owner had put into it, and a line for each thing that was kept."""

    content: bytes
    kept: tuple[str, ...]


#: Name of the file, its bytes as written the last time (None where that is not known), as they are, and as new.
Merge = Callable[[str, bytes | None, bytes, bytes], Merged]


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """One deliverable: its bytes, whether it is a program, and how its owner's changes get into a new version."""

    content: bytes
    executable: bool = False
    merge: Merge | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a write did: the folder, how many files it holds and how many changed, and what of the user's was kept."""

    folder: Path
    files: int
    changed: int
    kept: tuple[str, ...] = ()


def text(content: str) -> File:
    """Return a text file's record, UTF-8, ending in one newline."""
    return File(content=(content.rstrip("\n") + "\n").encode())


def write(folder: Path, files: Mapping[str, File], *, parts: Sequence[str] = (), force: bool = False) -> Written:
    """Write `files` (relative POSIX path to record) into `folder`.

    Args:
        folder: made if missing.
        files: everything the folder shall hold; files of an earlier write that are no longer named are removed, unless
            the user changed them.
        parts: sub-folders to which `files` are limited; what an earlier write put into other sub-folders stays. Without
            any, the whole folder. Files beside the sub-folders must be those of the earlier write then.
        force: replace files even if the user changed them, but for what a file's `merge` keeps of them. Files that were
            never written here are always kept.

    Raises:
        InputError: the folder cannot be written, is not ours, holds changes of the user or a symbolic link on the way
            to a file, was written for something else than the parts, or another run is writing it.
    """
    for name in files:
        if not _is_inside(name):
            raise ValueError(f"{name!r} would leave the folder")
    try:
        if not folder.exists():
            return _create(folder, files)
        if not folder.is_dir():
            raise InputError(f"{folder} is a file", help="name another folder with -o")
        return _update(folder, files, parts=parts, force=force)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror or error}",
            help="name a folder that you may write to with -o",
        ) from None


def add(path: Path, content: bytes) -> None:
    """Write one file next to those of an earlier write, whole or not at all; later writes keep it.

    Raises:
        InputError: it cannot be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "wb") as stream:
            _lock(descriptor, path)
            stream.truncate()
            stream.write(content)
            stream.flush()
            partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}", help="name a folder that you may write to"
        ) from None


def _is_inside(name: str) -> bool:
    """Tell whether a name is that of a deliverable: relative, normalised, below the folder, and no record of ours."""
    pure = PurePosixPath(name)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return (
        bool(pure.parts)
        and str(pure) == name
        and not pure.is_absolute()
        and ".." not in pure.parts
        and "\0" not in name
        and pure.parts[0] not in (MANIFEST, MANIFEST + _UNFINISHED, _STAGE)
    )


class _Tree:
    """The files below an open folder, reached by its descriptor and never through a symbolic link."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path

    @contextmanager
    def parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that holds a name; give its descriptor and the name's last part.

        Raises:
            InputError: a symbolic link is on the way.
            OSError: the folder is missing, or cannot be opened.
        """
        parts = PurePosixPath(name).parts
        opened = [os.dup(self.descriptor)]
        try:
            for index, part in enumerate(parts[:-1]):
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=opened[-1])
                try:
                    opened.append(os.open(part, _FOLDER, dir_fd=opened[-1]))
                except OSError as error:
                    link = self.path.joinpath(*parts[: index + 1])
                    if error.errno in (errno.ELOOP, errno.ENOTDIR) and link.is_symlink():
                        raise InputError(
                            f"{link} is a symbolic link, and nothing is written through one",
                            help="put a folder in its place, or name another folder with -o",
                        ) from None
                    raise
            yield opened[-1], parts[-1]
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def digest(self, name: str) -> str | None:
        """Return the hash of a file's content, None where there is nothing, "" for what is not a regular file."""
        try:
            with self.parent(name) as (folder, last):
                if not stat.S_ISREG(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                    return ""
                with os.fdopen(os.open(last, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as stream:
                    return hashlib.file_digest(stream, "sha256").hexdigest()
        except FileNotFoundError:
            return None

    def record(self, name: str) -> dict[str, str] | None:
        """Read a manifest; None where there is none.

        Raises:
            InputError: it is damaged, or names what is no file of this folder.
        """
        try:
            with (
                self.parent(name) as (folder, last),
                os.fdopen(os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as stream,
            ):
                content = stream.read(_MANIFEST_BYTES)
        except FileNotFoundError:
            return None
        path = self.path / name
        try:
            # Cut off, a longer one is no JSON.
            files = {str(key): str(digest) for key, digest in json.loads(content)["files"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                f"{path} is damaged, so that your changes cannot be told from ours",
                help="name another folder with -o, or remove the file and add --force",
            ) from None
        outside = sorted(key for key in files if not _is_inside(key))
        if outside:
            raise InputError(
                f"{path} names {outside[0]!r}, which is no file below this folder",
                help="somebody else wrote this record: name another folder with -o, or remove it and add --force",
            )
        return files

    def last_written(self, name: str) -> dict[str, bytes]:
        """Return the files of a manifest that are merged, as they were written; none where there is no such record."""
        try:
            merged = json.loads(self.read(name)).get("merged", {})
            return {str(key): str(content).encode() for key, content in merged.items()}
        except (FileNotFoundError, ValueError, AttributeError, RecursionError):
            return {}

    def read(self, name: str) -> bytes:
        """Read a file, at most what a manifest may have.

        Raises:
            OSError: it is missing, or a symbolic link.
        """
        with (
            self.parent(name) as (folder, last),
            os.fdopen(os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as stream,
        ):
            return stream.read(_MANIFEST_BYTES)

    def create(self, name: str, file: File) -> None:
        """Write a file that does not exist yet, and the folders on the way to it."""
        with self.parent(name, make=True) as (folder, last):
            descriptor = os.open(last, _NEW_FILE, 0o600, dir_fd=folder)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(file.content)
                os.fchmod(descriptor, 0o755 if file.executable else 0o644)

    def create_record(self, name: str, content: bytes) -> None:
        """Write a manifest, whole or not at all."""
        self.remove(name + _UNFINISHED)
        self.create(name + _UNFINISHED, File(content=content))
        self.move(name + _UNFINISHED, name)

    def move(self, source: str, target: str) -> None:
        """Put one file in the place of another."""
        with self.parent(source) as (source_folder, first), self.parent(target, make=True) as (target_folder, last):
            os.replace(first, last, src_dir_fd=source_folder, dst_dir_fd=target_folder)

    def remove(self, name: str) -> bool:
        """Remove a file; tell whether there was one."""
        try:
            with self.parent(name) as (folder, last):
                os.unlink(last, dir_fd=folder)
        except FileNotFoundError:
            return False
        return True

    def remove_empty_folders(self, names: Mapping[str, str]) -> None:
        """Remove the folders above the named files where nothing is left in them."""
        folders = {parent for name in names for parent in PurePosixPath(name).parents if parent.parts}
        for folder in sorted(folders, key=lambda one: -len(one.parts)):
            with suppress(OSError), self.parent(str(folder)) as (above, last):
                os.rmdir(last, dir_fd=above)

    def entries(self) -> list[str]:
        """Return the names directly in the folder."""
        return [entry.name for entry in os.scandir(self.descriptor)]


def _lock(descriptor: int, path: Path) -> None:
    """Keep a second run away until the descriptor is closed.

    Raises:
        InputError: another run holds the lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"another run is writing {path}", help="wait until it has ended, then run this again"
        ) from None
    except OSError as error:
        # Some network file systems know no locks; one run at a time is then up to the user.
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EBADF, errno.EINVAL):
            raise


@contextmanager
def _opened(path: Path, shown: Path) -> Iterator[_Tree]:
    """Open and lock a folder; `shown` is its name in messages."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, shown)
        if not os.path.samestat(os.fstat(descriptor), path.stat()):
            raise InputError(f"another run has just written {shown}", help="run this again")
        yield _Tree(descriptor, path)
    finally:
        os.close(descriptor)


def _create(folder: Path, files: Mapping[str, File]) -> Written:
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.parent / f".{folder.name}.partial"
    with suppress(FileExistsError):
        partial.mkdir()
    if partial.is_symlink():
        raise InputError(f"{partial} is a symbolic link", help="remove it, or name another folder with -o")
    with _opened(partial, folder) as tree:
        _remove_partial(tree)
        try:
            # The manifest first: by it the next run removes what a killed one leaves.
            tree.create_record(MANIFEST, _manifest(files))
            for name, file in files.items():
                tree.create(name, file)
            partial.rename(folder)
        except BaseException:
            _remove_partial(tree)
            with suppress(OSError):
                partial.rmdir()
            raise
    return Written(folder=folder, files=len(files), changed=len(files))


def _remove_partial(tree: _Tree) -> None:
    """Remove what a first write that did not end has left, by its manifest.

    Raises:
        InputError: something else is there too.
    """
    names = tree.record(MANIFEST) or {}
    for name in names:
        tree.remove(name)
    tree.remove_empty_folders(names)
    for name in (MANIFEST, MANIFEST + _UNFINISHED):
        tree.remove(name)
    if tree.entries():
        raise InputError(
            f"{tree.path} holds files that Clusterwright did not write",
            help="move them elsewhere, or name another folder with -o",
        )


def _update(folder: Path, files: Mapping[str, File], *, parts: Sequence[str], force: bool) -> Written:
    with _opened(folder, folder) as tree:
        recorded, interrupted = tree.record(MANIFEST), tree.record(f"{_STAGE}/{MANIFEST}")
        if recorded is None and interrupted is None:
            if not force and set(tree.entries()) - {_STAGE}:
                raise InputError(
                    f"{folder} holds files that Clusterwright did not write",
                    help="name an empty or new folder with -o, or add --force to write beside them",
                )
            recorded = {}
        if interrupted is not None and parts:
            raise InputError(
                f"the last write into {folder} was broken off, so that its other files are not known",
                help="write the whole folder once, then parts of it",
            )
        others = {name: digest for name, digest in (recorded or {}).items() if _is_elsewhere(name, files, parts)}
        if recorded is not None:
            recorded = {name: digest for name, digest in recorded.items() if name not in others}
        ours = [names for names in (recorded, interrupted) if names is not None]
        wanted = _hashes(files)
        of_another = sorted(name for name in wanted if _differs(name, recorded or {}, wanted, parts))
        if of_another:
            raise InputError(
                f"{folder} was written for another {of_another[0]}, with which single parts would not agree",
                help="write the whole folder again, or name another one with -o",
            )
        now = {name: tree.digest(name) for name in {*wanted, *(name for names in ours for name in names)}}

        def is_ours(name: str) -> bool:
            return now[name] is None or now[name] in [names.get(name) for names in (*ours, wanted)]

        touched = sorted(name for name in now if not is_ours(name))
        if touched and not force:
            more = f" and {len(touched) - _SHOWN_NAMES} more" if len(touched) > _SHOWN_NAMES else ""
            raise InputError(
                f"{folder}: changed since they were written: {', '.join(touched[:_SHOWN_NAMES])}{more}",
                help="keep your changes by naming another folder with -o, or replace them with --force",
            )
        in_the_way = sorted(name for name in wanted if now[name] == "" and (folder / name).is_dir())
        if in_the_way:
            raise InputError(
                f"{folder / in_the_way[0]} is a folder, and a file of that name is to be written",
                help="move it elsewhere, or name another folder with -o",
            )
        final, kept = _merged(tree, files, touched, now)
        digests = _hashes(final)
        _remove_stage(tree, interrupted)
        stale = sorted(name for name in now.keys() - wanted.keys() if now[name] is not None and is_ours(name))
        changed = [name for name in final if now[name] != digests[name]]
        if changed or stale or recorded != wanted:
            # Of a merged file the record holds what was generated: its owner's values are his the next time too.
            manifest = _manifest(files, others, tree.last_written(MANIFEST))
            _replace(tree, final, changed=changed, stale=stale, manifest=manifest)
    return Written(folder=folder, files=len(files), changed=len(changed) + len(stale), kept=kept)


def _is_elsewhere(name: str, files: Mapping[str, File], parts: Sequence[str]) -> bool:
    """Tell whether a file of an earlier write lies outside the parts that are written."""
    return bool(parts) and name not in files and name.partition("/")[0] not in parts


def _differs(name: str, recorded: Mapping[str, str], wanted: Mapping[str, str], parts: Sequence[str]) -> bool:
    """Tell whether a file that all parts rest on is not the one of the earlier write."""
    return bool(parts) and "/" not in name and recorded.get(name, wanted[name]) != wanted[name]


def _merged(
    tree: _Tree, files: Mapping[str, File], touched: Sequence[str], now: Mapping[str, str | None]
) -> tuple[dict[str, File], tuple[str, ...]]:
    """Return the files to write, with what users put into those that are merged, and what of it was kept."""
    final, kept = dict(files), list[str]()
    bases = tree.last_written(MANIFEST)
    for name in touched:
        file = files.get(name)
        if file is not None and file.merge is not None and now[name]:
            found = file.merge(name, bases.get(name), tree.read(name), file.content)
            final[name] = replace(file, content=found.content)
            kept += [f"{name}: {line}" for line in found.kept]
    return final, tuple(kept)


def _replace(tree: _Tree, files: Mapping[str, File], *, changed: list[str], stale: list[str], manifest: bytes) -> None:
    """Stage the changed files, then put them in place, remove the stale ones, and the manifest last."""
    try:
        tree.create_record(f"{_STAGE}/{MANIFEST}", manifest)
        for index, name in enumerate(changed):
            tree.create(_staged(index), files[name])
    except BaseException:
        _remove_stage(tree, _hashes(files))
        raise
    for index, name in enumerate(changed):
        tree.move(_staged(index), name)
    for name in stale:
        tree.remove(name)
    tree.move(f"{_STAGE}/{MANIFEST}", MANIFEST)
    _remove_stage(tree, None)


def _staged(index: int) -> str:
    return f"{_STAGE}/{index:06d}"


def _remove_stage(tree: _Tree, interrupted: Mapping[str, str] | None) -> None:
    """Remove the stage by its record; what the user put there stays, and stops the write.

    Raises:
        InputError: something else is there too.
    """
    for index in range(len(interrupted or {})):
        tree.remove(_staged(index))
    for name in (MANIFEST, MANIFEST + _UNFINISHED):
        tree.remove(f"{_STAGE}/{name}")
    try:
        os.rmdir(_STAGE, dir_fd=tree.descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise InputError(
            f"{tree.path / _STAGE} holds files that Clusterwright did not write",
            help="move them elsewhere: new files are staged there while a folder is written",
        ) from None


def _hashes(files: Mapping[str, File]) -> dict[str, str]:
    return {name: hashlib.sha256(file.content).hexdigest() for name, file in files.items()}


def _manifest(
    files: Mapping[str, File], others: Mapping[str, str] | None = None, earlier: Mapping[str, bytes] | None = None
) -> bytes:
    """Return the record of a folder.

    Args:
        files: that are written.
        others: digests of files that stay as an earlier write left them.
        earlier: content of merged files at that write.
    """
    stay = others or {}
    record: dict[str, object] = {"schema": 1, "files": dict(sorted({**_hashes(files), **stay}.items()))}
    merged = {name: content.decode() for name, content in (earlier or {}).items() if name in stay}
    merged |= {name: file.content.decode() for name, file in files.items() if file.merge is not None}
    if merged:
        record["merged"] = dict(sorted(merged.items()))
    return text(json.dumps(record, indent=1)).content
