"""Secrets that are in the program or in scripts as they are: a text under a name that says so."""

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeGuard

from clusterwright.blueprint.reading.document import parsed
from clusterwright.checks.preflight.files.shell import is_script, lines
from clusterwright.checks.preflight.results import Outcome, Place
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import ClusterwrightError

_NAME = re.compile(
    r"(?i)(^|_|-|[a-z])(pass(word|wd|phrase)|pwd|(auth|access|api|bearer|session|hf|wandb)_?token|(client|shared|app)_?secret|"
    r"api_?key|access_?key|secret_?key|private_?key|account_?key|storage_?key|sas_?token|connection_?string|"
    r"secret_(data|string|value))$"
)
#: Secrets that show what they are by themselves, whatever they are called.
_TOKENS = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bhf_[A-Za-z0-9]{30,}|\bgh[pousr]_[A-Za-z0-9]{36,}|\bglpat-[A-Za-z0-9_-]{20,}|"
    r"\bxox[abprs]-[A-Za-z0-9-]{20,}|\bsk-[A-Za-z0-9_-]{32,}|\bnvapi-[A-Za-z0-9_-]{40,}|\bAIza[0-9A-Za-z_-]{35}|"
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----|\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\."
)
_NO_SECRET = re.compile(r"(?i)(_id|_ids|_name|_arn|_url|_path|_file|_rotation|_days|_policy|_length)$")
#: Texts that name a secret, or stand in the place of one.
_REFERENCE = re.compile(
    r"^(|arn:.*|projects/.*|/.*|https?://.*|\$.*|<.*>|\{.*\}|[a-z_]+:.*|[A-Z_]+|none|null|true|false)$"
)
_LEAST_SIGNS = 4
_SHELL = re.compile(
    r"(?i)\b([A-Za-z_]*(?:PASS(?:WORD|WD|PHRASE)?|TOKEN|SECRET|API_?KEY|ACCESS_?KEY|StoragePass))=[\"']?([^\s\"'$`;|&)(<>]{4,})"
)
_OPTION = re.compile(
    r"(?<!\S)(?:--password|--passwd|--token|--secret)[= ][\"']?([^\s\"'$`;|&)(<>-][^\s\"'$`;|&)(<>]{3,})"
)
#: Commands whose -p is a password: joined to it for MySQL, where a word of its own is a database.
_SHORT_OPTION = re.compile(
    r"\b(?:mysql\w*|mariadb[\w-]*)\s(?:.*\s)?-p[\"']?([^\s\"'$`;|&)(<>]{4,})"
    r"|\b(?:sshpass|(?:docker|podman|skopeo|registry|az|acr)\s+login)\s(?:.*\s)?-p\s*[\"']?([^\s\"'$`;|&)(<>-][^\s\"'$`;|&)(<>]{3,})"
)
_LOGIN = re.compile(r"\bcurl\b.*\s(?:-u|--user)[= ]?[\"']?[^\s\"':$]+:([^\s\"'$`]{3,})")
_BEARER = re.compile(r"(?i)authorization:\s*(?:bearer|basic)\s+([A-Za-z0-9+/=._-]{12,})")
_SKIPPED = re.compile(r"(^|/)(tests?|\.venv[^/]*|__pycache__|node_modules)/")
#: Workflows, which give variables to their steps; `${{ secrets.NAME }}` is a reference.
_WORKFLOW = re.compile(r"(^|/)\.(github|gitlab-ci|circleci|azure-pipelines)\b.*\.ya?ml$")
_GIVEN = re.compile(r"^\s*-?\s*[\"']?([A-Z][A-Z0-9_]+)[\"']?:\s+[\"']?([^\s\"'#]+)")
#: Calls whose second argument stands for what the first one names.
_WITH_DEFAULT = ("get", "getenv", "setdefault", "get_secret", "setenv")
#: Settings of stacks, which have a check of their own.
_SETTINGS = re.compile(r"(^|/)Pulumi\.[^/]*$")
_WRITTEN_PAIR = re.compile(r"^[\"']?([A-Za-z][A-Za-z_-]*)[\"']?\s*[:=]\s*[\"']?([^\s\"'#]+)")
_FIX = "replace the secret where it was used, and take the new one from pulumi config set --secret or the cloud's store"


def literal_secrets(subject: Subject) -> Iterator[Outcome]:
    """Find texts of the program and of scripts that their names call secrets."""
    for name, content in subject.project.files.items():
        if _SKIPPED.search(name):
            continue
        found: Iterable[tuple[int, str]] = ()
        if name.endswith(".py"):
            found = _of_python(content)
        elif is_script(name, content):
            found = _of_shell(content)
        elif _WORKFLOW.search(name):
            found = _of_workflow(content)
        elif name.endswith((".yaml", ".yml")) and not _SETTINGS.search(name):
            found = _of_manifest(name, content)
        elif name.endswith(".env"):
            found = _of_shell(content)
        known = tuple(found)
        for line, what in (*known, *_of_anything(content, {number for number, _ in known})):
            yield Outcome(
                status="FAIL",
                message=f"{name} holds {what} in plain text",
                fix=_FIX,
                place=Place(file=subject.project.shown(name), line=line, column=1),
            )


def _is_secret(name: str, value: object) -> bool:
    sounds = _NAME.search(name) and not _NO_SECRET.search(name)
    if not sounds or not isinstance(value, str) or len(value) < _LEAST_SIGNS or _REFERENCE.match(value):
        return False
    # A name of the secret in another spelling.
    plain_name, plain_value = (re.sub(r"[^a-z0-9]", "", one.lower()) for one in (name, value))
    return plain_value not in plain_name and plain_name not in plain_value


def _of_python(content: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(content)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if _is_secret_output(node):
            yield node.lineno, "a text that it hands on as a secret"
        for name, value in _named(node):
            literal = _literal(value)
            if _is_secret(name, literal):
                yield value.lineno, f"a text called {name}"


def _is_secret_output(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether a node is `pulumi.Output.secret` of a text, which hides it from the state and from nobody else."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "secret"):
        return False
    of_output = isinstance(node.func.value, ast.Attribute | ast.Name) and _last(node.func.value) == "Output"
    literal = _literal(node.args[0]) if node.args else None
    return of_output and isinstance(literal, str) and len(literal) >= _LEAST_SIGNS


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a node gives to values: arguments, variables, keys, defaults."""
    if isinstance(node, ast.Call):
        yield from ((one.arg, one.value) for one in node.keywords if one.arg)
        function = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        first = _literal(node.args[0]) if node.args else None
        called = function or (node.func.id if isinstance(node.func, ast.Name) else "")
        if _NAME.search(called.strip("_")) and isinstance(first, str):
            yield called, node.args[0]
        if isinstance(first, str) and function in _WITH_DEFAULT:
            yield from ((first, one) for one in node.args[1:])
    elif isinstance(node, ast.Assign):
        yield from ((_last(target), node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield _last(node.target), node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield str(_literal(key)) if key is not None else "", value
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        given = positional[len(positional) - len(node.defaults) :]
        yield from ((one.arg, value) for one, value in zip(given, node.defaults, strict=True))
        keyed = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        yield from ((one.arg, value) for one, value in keyed if value is not None)


def _last(target: ast.expr) -> str:
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Subscript):
        return str(_literal(target.slice) or "")
    return target.id if isinstance(target, ast.Name) else ""


def _literal(node: ast.expr) -> object:
    # pulumi.Output.secret("text") hides it from the state, not from the program.
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "secret" and node.args:
        return _literal(node.args[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _literal(node.left), _literal(node.right)
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    return node.value if isinstance(node, ast.Constant) else None


def _of_shell(content: str) -> Iterator[tuple[int, str]]:
    for line in lines(content):
        named = [(name, value) for name, value in _SHELL.findall(line.text) if _is_value(name, value)]
        if named:
            yield line.number, f"a value of {named[0][0]}"
        elif any(one.search(line.text) for one in (_OPTION, _SHORT_OPTION, _LOGIN)):
            yield line.number, "a password of a command"
        elif _BEARER.search(line.text):
            yield line.number, "a login of a request"
        elif (
            line.written and (pair := _WRITTEN_PAIR.match(line.text)) and _is_secret(pair[1].replace("-", "_"), pair[2])
        ):
            yield line.number, f"a value of {pair[1]}"


def _of_anything(content: str, known: set[int]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content.splitlines(), start=1):
        if number not in known and _TOKENS.search(line):
            yield number, "a login of a service"


def _of_manifest(name: str, content: str) -> Iterator[tuple[int, str]]:
    """Find variables of containers, data of Secrets, and values, that are secrets by their names."""
    first = 0
    for part in re.split(r"(?m)^---[ \t]*$", content):
        with suppress(ClusterwrightError):
            document = parsed(part, name=name)
            for path, called in _pairs(document.value, ()):
                at = document.values.get(path)
                yield first + (at.line if at is not None else 1), f"a value of {called}"
        first += part.count("\n")


def _pairs(
    value: object, path: tuple[str | int, ...], *, secret: bool = False
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield path and name of every text that its name, or the object that it is in, calls a secret."""
    if isinstance(value, dict):
        named, given = value.get("name"), value.get("value")
        if isinstance(named, str) and _is_secret(named, given):
            yield (*path, "value"), named
        for key, item in value.items():
            held = secret or (value.get("kind") == "Secret" and key in ("data", "stringData"))
            if isinstance(item, str) and (
                _is_secret(str(key).replace("-", "_"), item) or (secret and len(item) >= _LEAST_SIGNS)
            ):
                yield (*path, key), str(key)
            else:
                yield from _pairs(item, (*path, key), secret=held)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _pairs(item, (*path, place), secret=secret)


def _of_workflow(content: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content.splitlines(), start=1):
        given = _GIVEN.match(line)
        if given and _is_secret(given[1], given[2]):
            yield number, f"a value of {given[1]}"


def _is_value(name: str, value: str) -> bool:
    ours = re.search(r"(?i)(_ID|_NAME|_ARN|_URL|_PATH|_FILE)$", name)
    return not ours and not _REFERENCE.match(value) and "no_password" not in value
