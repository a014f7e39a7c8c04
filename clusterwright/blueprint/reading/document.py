"""YAML with positions: the one place that reads it.

The text is composed into nodes and turned into plain values here, so that every key and value keeps its position,
duplicate keys are found all at once, and dates stay text. YAML 1.2: `no` is a string and `300e9` a number.
"""

import datetime as dt
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from clusterwright.blueprint.reading.problems import BlueprintError, Position, Problem, dotted
from clusterwright.blueprint.reading.problems import Path as KeyPath
from clusterwright.errors import InputError
from clusterwright.input_files import read_text

#: Some pages of text; reading YAML with positions takes about 14 µs a byte.
MOST_BYTES = 128_000
_MAX_VALUES = 10_000
_MAX_DEPTH = 40
#: No count has more; Python converts only this many to text and back.
_MOST_DIGITS = 400
_SHOWN = 40
#: Parsed texts in memory: a generated project has about forty.
_KEPT = 64
_TAG = "tag:yaml.org,2002:"
#: What to do about text that is no YAML, by words of the reader's complaint.
_BROKEN = {
    "'\\t'": "YAML indents with blanks: write blanks in the place of this tab",
    "another document": "a file holds one blueprint: remove --- and what follows, or make two files",
    "end of stream": "a quote or bracket that opens further up is not closed",
}
_CHECK_IT = "check the indentation and the quotes here"
#: What a document may hold that is no blueprint; anything else is a number.
_KINDS: dict[type, str] = {list: "a list", str: "a text", bool: "a truth value", type(None): "nothing"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A YAML document as plain values, with the position of each key and value.

    Attributes:
        name: file name as the user gave it.
        text: the source.
        value: mappings, lists and scalars.
        keys: position of the key at a path; values: position of its value.
        problems: keys that are given twice.
        overridden: paths whose value was given on the command line and so is nowhere in the text.
    """

    name: str
    text: str
    value: Any
    keys: dict[KeyPath, Position]
    values: dict[KeyPath, Position]
    problems: tuple[Problem, ...]
    overridden: frozenset[KeyPath] = frozenset()


class _BoundedComposer(Composer):
    """A composer that stops where a document is nested too deeply: reading time grows with the square of the depth."""

    _depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:  # noqa: ANN401 - a key's node, or a place
        """Compose a node and those below it."""
        self._depth += 1
        # One level is the document itself.
        if self._depth > _MAX_DEPTH + 1:
            raise _too_large()
        try:
            return cast("Node | None", super().compose_node(parent, index))
        finally:
            self._depth -= 1


def _compose(text: str) -> Node | None:
    yaml = YAML(typ="rt", pure=True)
    yaml.Composer = _BoundedComposer
    return cast("Node | None", yaml.compose(text))


def _too_large() -> InputError:
    return InputError("the blueprint is too large or nested too deeply", help="remove anchors that repeat")


@dataclass(kw_only=True, slots=True)
class _Walk:
    keys: dict[KeyPath, Position] = field(default_factory=dict)
    values: dict[KeyPath, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    seen: int = 0

    def value(self, node: Node, path: KeyPath) -> Any:  # noqa: ANN401 - YAML holds anything
        self.seen += 1
        if self.seen > _MAX_VALUES or len(path) > _MAX_DEPTH:
            raise _too_large()
        self.values[path] = _position(node)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _scalar(self, node: Node, path: KeyPath) -> Any:  # noqa: ANN401
        try:
            return _scalar(node)
        except (ValueError, KeyError):
            kind = str(node.tag).removeprefix(_TAG)
            shown = str(node.value)[:_SHOWN]
            problem = Problem(
                path=path,
                message=f"{shown!r} is not a value of YAML's kind {kind}",
                help="remove the tag, or correct the value",
                position=_position(node),
            )
            self.problems.append(problem)
            return str(node.value)

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, ScalarNode) else "?"
            here = (*path, key)
            if key in result:
                first = self.keys[here]
                self.problems.append(
                    Problem(
                        path=here,
                        message=f"{key!r} is given twice; the first is on line {first.line}",
                        help="keep one of them",
                        position=_position(key_node),
                    )
                )
                continue
            self.keys[here] = _position(key_node)
            result[key] = self.value(value_node, here)
        return result


def _position(node: Node) -> Position:
    mark, end = node.start_mark, node.end_mark
    length = end.column - mark.column if end.line == mark.line else 1
    return Position(line=mark.line + 1, column=mark.column + 1, length=max(1, length))


def _scalar(node: Node) -> Any:  # noqa: ANN401
    text = str(node.value)
    if getattr(node, "style", None) == ">":
        text = text.replace("\a", "")  # where ruamel.yaml remembers that a line was folded
    kind = str(node.tag).removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool":
        return {"true": True, "false": False}[text.lower()]
    if kind == "int":
        if len(text) > _MOST_DIGITS:
            raise ValueError(text)
        return int(text.replace("_", ""), 0) if text.lower().startswith(("0x", "0o")) else int(text.replace("_", ""))
    if kind == "float":
        return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
    return text


def kind_of(value: object) -> str:
    """Return what a document holds in the place of a blueprint, in words.

    >>> kind_of([1]), kind_of(None), kind_of("a,b"), kind_of(1.5)
    ('a list', 'nothing', 'a text', 'a number')
    """
    return _KINDS.get(type(value), "a number")


def read(path: Path) -> Document:
    """Read a blueprint file.

    Raises:
        InputError: the file cannot be read, is empty, too large, or not text.
        BlueprintError: it is not valid YAML.
    """
    advice = "name a YAML file, or write one with: clusterwright init train -o FILE"
    return parse(read_text(path, most_bytes=MOST_BYTES, what="a blueprint", advice=advice), name=str(path))


def parse_bounded(text: str, *, name: str) -> Document:
    """Parse YAML text that came from elsewhere than a file.

    Raises:
        InputError: it is too large, empty, or not text; BlueprintError: it is not valid YAML.
    """
    size = len(text.encode(errors="surrogatepass"))
    if size > MOST_BYTES:
        raise InputError(
            f"{name} has {size:,} bytes, which is no blueprint", help=f"a blueprint has at most {MOST_BYTES:,} bytes"
        )
    return parse(text, name=name)


def parse(text: str, *, name: str) -> Document:
    """Parse YAML text; see `read` for what is raised."""
    try:
        node = _compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = Position(line=mark.line + 1, column=mark.column + 1, length=1) if mark else None
        said = error.problem or error.context or ""
        advice = next((help_ for words, help_ in _BROKEN.items() if words in said), _CHECK_IT)
        problem = Problem(
            path=(),
            message=f"this is not valid YAML: {said}",
            help=advice,
            position=position,
        )
        raise BlueprintError(name=name, text=text, problems=(problem,)) from None
    # The last one where comments stand in each other's way.
    except (YAMLError, RecursionError, NotImplementedError) as error:
        raise InputError(f"{name} is not valid YAML: {error}", help="save it as plain UTF-8 text") from None
    if node is None:
        raise InputError(f"{name} is empty", help="write one with: clusterwright init train -o FILE")
    walk = _Walk()
    value = walk.value(node, ())
    return Document(
        name=name, text=text, value=value, keys=walk.keys, values=walk.values, problems=tuple(walk.problems)
    )


@lru_cache(maxsize=_KEPT)
def parsed(text: str, *, name: str) -> Document:
    """Parse YAML text that several rules read, once; its readers must not change the document."""
    return parse(text, name=name)


def document_of(values: Mapping[str, Any], *, name: str) -> Document:
    """Return values of a program as a document, so that mistakes in them are found and shown as in a file.

    Raises:
        InputError: a value, or a key, is of a type that no blueprint holds.
    """
    yaml = YAML(typ="rt", pure=True)
    yaml.width = MOST_BYTES
    stream = io.StringIO()
    yaml.dump(_plain(values, ()), stream)
    return parse(stream.getvalue(), name=name)


def _plain(value: Any, path: KeyPath) -> Any:  # noqa: ANN401 - whatever the program holds
    """Return a value with what YAML has: mappings, lists, text, numbers, truth values."""
    if len(path) > _MAX_DEPTH:
        raise _too_large()
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise InputError(
                f"{dotted(path) or 'the blueprint'}: the key {wrong!r} is no text", help="use text", path=path
            )
        return {key: _plain(inside, (*path, key)) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inside, (*path, index)) for index, inside in enumerate(value)]
    if isinstance(value, PurePath | dt.date):
        return str(value)
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)  # of numpy's kinds too, which YAML does not know
    raise InputError(
        f"{dotted(path)}: a blueprint holds no {type(value).__name__}",
        help="use text such as '30 days', a number, a list or a dict",
        path=path,
    )


def parse_scalar(text: str) -> Any:  # noqa: ANN401
    """Read one value as it would be read in a blueprint (for `--set path=value`)."""
    try:
        node = _compose(text)
    except (YAMLError, NotImplementedError):
        return text
    return None if node is None else _Walk().value(node, ())
