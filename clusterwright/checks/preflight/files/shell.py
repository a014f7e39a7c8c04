"""Shell scripts as checks read them: logical lines with their numbers, comments left out, here-documents kept.

No interpreter: quotes, comments, continued lines and here-documents are distinguished, which is what rules of single
commands need. A command that a script composes of variables is not seen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_HERE = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")
#: A command that nothing comes after: `exec` with a program, not with a redirection alone.
_ENDS = re.compile(r"((echo|say|printf|logger)\b[^;]*;\s*)?(exit|return)(\s+\S+)?$|exec\s+(?![0-9{&]*[<>{])\S")
#: Ends or parts a block.
_CLOSES = re.compile(r"(fi|else|elif|done|esac)\b|[})]|;;|;&")
_CONTINUES = re.compile(r"(\\|\||&&|\|\|)\s*$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One logical line.

    Attributes:
        number: of its first physical line, from 1.
        text: without comments, continued lines joined by a blank.
        written: whether it is content of a file that the script writes, not a command.
    """

    number: int
    text: str
    written: bool = False


def lines(script: str) -> Iterator[Line]:
    r"""Yield the logical lines of a script.

    >>> [line.text for line in lines("a \\\n  b # c\nd '#' | \ne")]
    ['a b', "d '#' | e"]
    """
    end, first, joined = "", 0, ""
    for number, physical in enumerate(script.splitlines(), start=1):
        if end:
            if physical.strip() == end:
                end = ""
            else:
                yield Line(number=number, text=physical.strip(), written=True)
            continue
        text = without_comment(physical).strip()
        if not joined:
            first = number
        joined = f"{joined} {text}".strip() if joined else text
        if _CONTINUES.search(joined) and text:
            joined = joined.removesuffix("\\").rstrip()
            continue
        opened = _HERE.search(joined)
        if opened and "<<<" not in joined:
            end = opened[2]
        if joined:
            yield Line(number=first, text=joined)
        joined = ""
    if joined:
        yield Line(number=first, text=joined)


def without_comment(line: str) -> str:
    """Return a line up to a comment that is neither quoted nor a part of a word.

    >>> without_comment('echo "#1" ${x#y} # why')
    'echo "#1" ${x#y} '
    """
    quote = ""
    for place, sign in enumerate(line):
        if quote:
            if sign == quote and line[place - 1] != "\\":
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (place == 0 or line[place - 1].isspace()):
            return line[:place]
    return line


def unreached(script: str) -> Iterator[tuple[Line, Line]]:
    r"""Yield each command that ends its script or function whatever is so, with the one behind it that is never run.

    >>> [(end.text, line.number) for end, line in unreached("a\nexit 0\nb\nif c; then\n exit 1\nfi\nexec d\n")]
    [('exit 0', 3)]
    """
    commands = [line for line in lines(script) if not line.written]
    for line, following in pairwise(commands):
        if _ENDS.match(line.text) and "||" not in line.text and not _CLOSES.match(following.text):
            yield line, following


def is_script(name: str, content: str) -> bool:
    """Tell whether a file is a shell script, by its name or its first line."""
    return name.endswith((".sh", ".sbatch", ".bash")) or bool(re.match(r"#!.*\b(ba|da|z|k)?sh\b", content))
