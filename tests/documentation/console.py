"""Console blocks of pages: what they run, what they show, and what the commands really print.

Each `$ command` of a block whose language is `console` runs in the page's folder, and what is below it is what the
command prints. A block with a title, such as `yaml title="train.yaml"`, is a file of that folder; one with the title
`train.yaml, added` goes to the end of the file that is there. A comment on the line before a block says what is special
about it, in parts divided by `;`:

- `show "A".."B", "C"..`: of the last command's output, the lines from the first that holds A to the one before B, then
  from C on;
- `vary PATTERN`: what this regular expression finds may differ, for example seconds;
- `needs PROGRAM`: the block is left out where the program is not installed;
- `not run: REASON`: nothing is run.
"""

import contextlib
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright import assets
from clusterwright.cli.main import run

ROOT = assets.root()
#: Columns that fit the pages of the site.
WIDTH = "90"
CUT = "…"
_ADDED = ", added"
_FENCE = re.compile(r"^```(\w+)(?: +title=\"([^\"]+)\")?$")
_COMMENT = re.compile(r"^<!-- (.*) -->$")
_RANGE = re.compile(r'"([^"]*)"\.\.(?:"([^"]*)")?')
_SHELL = re.compile(r"[|&;<>*$`]")
_SECONDS = 300
#: What a command prints that the page has wrong.
_MISUSED = re.compile(r"^Error: (No such|Got unexpected|Missing|Invalid)|: command not found$|Traceback", re.M)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One fenced block of a page.

    Attributes:
        language: behind the fence; title: of a file.
        first: number of the fence's line, from 0; lines: what is between the fences.
        ranges: of the output that is shown, all if empty.
        vary: what may differ; needs: programs; not_run: the reason why nothing is run, or empty.
    """

    language: str
    title: str
    first: int
    lines: tuple[str, ...]
    ranges: tuple[tuple[str, str], ...] = ()
    vary: str = ""
    needs: tuple[str, ...] = ()
    not_run: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One command of a block: its line, or lines that a backslash joins, and what is shown below it."""

    command: str
    written: tuple[str, ...]
    shown: tuple[str, ...]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        if not opened:
            at += 1
            continue
        end = next(place for place in range(at + 1, len(lines)) if lines[place].startswith("```"))
        said = _COMMENT.match(lines[at - 1]) if at else None
        yield _block(opened, at, tuple(lines[at + 1 : end]), said[1] if said else "")
        at = end + 1


def _block(opened: re.Match[str], first: int, lines: tuple[str, ...], said: str) -> Block:
    found: dict[str, str] = {}
    for part in re.split(r";\s*(?=show |vary |needs |not run: )", said):
        for word in ("show", "vary", "needs", "not run:"):
            if part.startswith(f"{word} "):
                found[word] = part.removeprefix(f"{word} ").strip()
    return Block(
        language=opened[1],
        title=opened[2] or "",
        first=first,
        lines=lines,
        ranges=tuple((start, end) for start, end in _RANGE.findall(found.get("show", ""))),
        vary=found.get("vary", ""),
        needs=tuple(found.get("needs", "").split()),
        not_run=found.get("not run:", ""),
    )


def steps(block: Block) -> Iterator[Step]:
    """Yield the commands of a console block."""
    written: list[str] = []
    shown: list[str] = []
    for line in block.lines:
        if line.startswith("$ ") or (written and written[-1].endswith("\\")):
            if line.startswith("$ ") and written:
                yield _step(written, shown)
                written, shown = [], []
            written.append(line)
        else:
            shown.append(line)
    if written:
        yield _step(written, shown)


def _step(written: list[str], shown: list[str]) -> Step:
    command = " ".join(line.removeprefix("$ ").removesuffix("\\").strip() for line in written)
    return Step(command=command, written=tuple(written), shown=tuple(shown))


def shown_part(output: str, ranges: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the lines of an output that are shown, all without ranges, with a mark where lines are left out.

    Raises:
        AssertionError: the output has no line that a range names.
    """
    lines = tuple(line.rstrip() for line in output.rstrip("\n").splitlines())
    if not ranges:
        return lines
    found: list[str] = []
    at = 0
    for start, end in ranges:
        begin = _place(lines, start, at)
        stop = _place(lines, end, begin + 1) if end else len(lines)
        while stop > begin and not lines[stop - 1]:
            stop -= 1
        if begin > at:
            found.append(CUT)
        found += lines[begin:stop]
        at = stop
    if any(lines[at:]):
        found.append(CUT)
    return tuple(found)


def _place(lines: tuple[str, ...], text: str, start: int) -> int:
    place = next((place for place in range(start, len(lines)) if text in lines[place]), None)
    assert place is not None, f"no line after {start} holds {text!r}:\n" + "\n".join(lines)
    return place


def same(one: tuple[str, ...], other: tuple[str, ...], vary: str) -> bool:
    """Return whether two outputs are the same but for what may differ, and for blanks where that changes widths."""
    if not vary:
        return one == other
    pattern = re.compile(vary)
    return [" ".join(pattern.sub("~", line).split()) for line in one] == [
        " ".join(pattern.sub("~", line).split()) for line in other
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What a command printed, and the files that it wrote, by their paths below the folder."""

    output: str
    files: dict[str, bytes]


@dataclass(kw_only=True, slots=True)
class Shell:
    """Runs the commands of one page in a folder; the same command over the same files runs once in a session."""

    folder: Path
    known: dict[str, Ran] = field(default_factory=dict)

    def write(self, block: Block) -> None:
        """Write the file that a block holds, or what it adds to one."""
        path = self.folder / block.title.removesuffix(_ADDED)
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if block.title.endswith(_ADDED) else ""
        path.write_text(before + "\n".join(block.lines) + "\n", encoding="utf-8")

    def run(self, command: str) -> str:
        """Return what a command prints, results and messages in the order in which they come."""
        before = self._files()
        digest = hashlib.sha256(repr((command, sorted(before.items()))).encode()).hexdigest()
        if digest in self.known:
            for name, content in self.known[digest].files.items():
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return self.known[digest].output
        output = self._run(command)
        written = [name for name, content in self._files().items() if before.get(name) != content]
        files = {name: (self.folder / name).read_bytes() for name in written}
        self.known[digest] = Ran(output=output, files=files)
        return output

    def _run(self, command: str) -> str:
        if command.startswith("clusterwright ") and not _SHELL.search(command):
            return self._in_process(shlex.split(command)[1:])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "COLUMNS": WIDTH, "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return done.stdout

    def _in_process(self, arguments: list[str]) -> str:
        """Run our own command in this process, which has everything loaded."""
        stream = io.StringIO()
        saved = (Path.cwd(), sys.argv, sys.stdout, sys.stderr, os.environ.get("COLUMNS"))
        os.chdir(self.folder)
        os.environ["COLUMNS"] = WIDTH
        sys.argv, sys.stdout, sys.stderr = ["clusterwright", *arguments], stream, stream
        try:
            with contextlib.suppress(SystemExit):
                run()
        finally:
            os.chdir(saved[0])
            sys.argv, sys.stdout, sys.stderr = saved[1:4]
            os.environ.pop("COLUMNS")
            if saved[4] is not None:
                os.environ["COLUMNS"] = saved[4]
        return stream.getvalue()

    def _files(self) -> dict[str, str]:
        """Return a digest of each file of the folder, by its path."""
        found = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return {
            path.relative_to(self.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in found
        }


def missing(block: Block) -> list[str]:
    """Return the programs that a block needs and that are not installed."""
    return [program for program in block.needs if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]


def current(text: str, shell: Shell) -> tuple[str, list[str]]:
    """Run a page.

    Returns:
        the page with what the commands print today, and each command whose output differs from what the page shows.
    """
    lines = text.splitlines()
    wrong: list[str] = []
    moved = 0
    for block in blocks(text):
        if block.title:
            shell.write(block)
        if block.language != "console" or block.not_run or missing(block):
            continue
        made: list[str] = []
        found = list(steps(block))
        for step in found:
            whole = shell.run(step.command)
            assert not _MISUSED.search(whole), f"{step.command}: {whole}"
            output = shown_part(whole, block.ranges if step is found[-1] else ())
            agrees = same(output, step.shown, block.vary)
            if not agrees:
                wrong.append(step.command)
            made += [*step.written, *(step.shown if agrees else output)]
        first = block.first + 1 + moved
        lines[first : first + len(block.lines)] = made
        moved += len(made) - len(block.lines)
    return "\n".join(lines) + "\n", wrong
