"""Rules over the program's source: machines are closed, data survive a mistake."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.checks.preflight.files.values import flag
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of the program: the last name of what is called, its keyword arguments, and where it is.

    Attributes:
        arguments: source text of each keyword argument.
        literals: values of those that are literals.
    """

    name: str
    arguments: Mapping[str, str]
    literals: Mapping[str, object]
    file: str
    line: int
    column: int

    def place(self, shown: str) -> Place:
        """Return where the call is, its file under the name that people see."""
        return Place(file=shown, line=self.line, column=self.column)


def calls(files: Mapping[str, str]) -> Iterator[Call]:
    """Yield the calls of every Python module of the project's own program: its package and its layers.

    Modules that are not valid Python are left out; Pulumi says so at once.
    """
    for file, content in files.items():
        if not file.endswith(".py") or file.startswith(("tests/", "policy/", "launch/")):
            continue
        try:
            tree = ast.parse(content)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield _call(node, file)


def _call(node: ast.Call, file: str) -> Call:
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    function = node.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return Call(
        name=name,
        arguments={key: ast.unparse(value) for key, value in named.items()},
        literals={key: literal for key, value in named.items() if (literal := _literal(value)) is not _NONE},
        file=file,
        line=node.lineno,
        column=node.col_offset + 1,
    )


_NONE = object()


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NONE


_EVERYBODY = ("0.0.0.0/0", "::/0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Forbidden:
    """An argument that must not have a value.

    Attributes:
        argument: keyword, in any call whose name ends with `call`.
        bad: tells whether a literal is one of those that must not be here.
        why: what it would do; fix: what to write.
    """

    argument: str
    bad: Callable[[object], bool]
    why: str
    fix: str
    call: str = ""


def _is(*values: object) -> Callable[[object], bool]:
    return lambda value: any(value == one and type(value) is type(one) for one in values)


def _holds(*words: str) -> Callable[[object], bool]:
    return lambda value: any(word in (value if isinstance(value, list | tuple) else [value]) for word in words)


_TRUE, _FALSE = _is(True, "true"), _is(False, "false")
#: What leaves a machine or data open to others.
_OPEN = (
    Forbidden(argument="associate_public_ip_address", bad=_TRUE, why="gives machines a public address", fix='"false"'),
    Forbidden(argument="map_public_ip_on_launch", bad=_TRUE, why="gives machines a public address", fix="False"),
    Forbidden(argument="access_configs", bad=bool, why="gives machines a public address", fix="[]"),
    Forbidden(argument="publicly_accessible", bad=_TRUE, why="opens the database to the Internet", fix="False"),
    Forbidden(argument="ipv4_enabled", bad=_TRUE, why="gives the database a public address", fix="False"),
    Forbidden(argument="endpoint_public_access", bad=_TRUE, why="opens the control plane to the Internet", fix="False"),
    Forbidden(argument="public_network_access", bad=_is("Enabled"), why="opens it to the Internet", fix='"Disabled"'),
    Forbidden(argument="allow_blob_public_access", bad=_TRUE, why="lets blobs be read by everybody", fix="False"),
    Forbidden(
        argument="public_access_prevention", bad=_is("inherited"), why="lets data be published", fix='"enforced"'
    ),
    Forbidden(argument="block_public_acls", bad=_FALSE, why="lets data be published", fix="True"),
    Forbidden(argument="block_public_policy", bad=_FALSE, why="lets data be published", fix="True"),
    Forbidden(argument="ignore_public_acls", bad=_FALSE, why="lets data be published", fix="True"),
    Forbidden(argument="restrict_public_buckets", bad=_FALSE, why="lets data be published", fix="True"),
    Forbidden(
        argument="http_tokens", bad=_is("optional"), why="lets any process read the machine's role", fix='"required"'
    ),
    Forbidden(argument="encrypted", bad=_FALSE, why="leaves a disk unencrypted", fix="True"),
    Forbidden(argument="storage_encrypted", bad=_FALSE, why="leaves a database unencrypted", fix="True"),
    Forbidden(
        argument="minimum_tls_version", bad=_is("TLS1_0", "TLS1_1"), why="takes broken encryption", fix='"TLS1_2"'
    ),
    Forbidden(
        argument="cidr_ipv4", bad=_holds(*_EVERYBODY), why="lets everybody in", fix="name a group", call="IngressRule"
    ),
    Forbidden(
        argument="source_ranges", bad=_holds(*_EVERYBODY), why="lets everybody in", fix="name ranges", call="Firewall"
    ),
    Forbidden(
        argument="cidr_blocks", bad=_holds(*_EVERYBODY), why="lets everybody in", fix="name a group", call="IngressArgs"
    ),
)
#: What stops `destroy` until somebody changes the program.
_STAYS_FOR_EVER = (
    Forbidden(
        argument="deletion_protection",
        bad=_TRUE,
        why="makes `destroy` fail for good",
        fix="a setting that can be turned off",
    ),
)
#: What loses data at `destroy`, or by a slip.
_LOSES_DATA = (
    Forbidden(argument="force_destroy", bad=_TRUE, why="deletes the data with the bucket", fix="False"),
    Forbidden(argument="skip_final_snapshot", bad=_TRUE, why="deletes the database without a copy", fix="False"),
    Forbidden(
        argument="protect",
        bad=_FALSE,
        why="lets `destroy` take data",
        fix="True, or leave it out",
        call="ResourceOptions",
    ),
)


#: Settings by which an owner takes the protection of data, databases and control planes away on purpose.
PROTECTING_SETTINGS = ("protectData", "accountingDatabaseDeletionProtection", "deletionProtection")


def closed(subject: Subject) -> Iterator[Outcome]:
    """Find what opens machines or data: public addresses, the old metadata service, missing encryption."""
    yield from _forbidden(subject, _OPEN, "nothing in the program opens machines or data")


def keeps_data(subject: Subject) -> Iterator[Outcome]:
    """Find what loses data, and what makes `destroy` impossible."""
    yield from _forbidden(subject, _LOSES_DATA, "data are protected; `./cluster.sh destroy` keeps them")
    yield from _forbidden(subject, _STAYS_FOR_EVER, "")
    for key in PROTECTING_SETTINGS:
        for setting in subject.project.settings(key):
            if flag(setting.value) is False:
                yield Outcome(
                    status="WARN",
                    message=f"{key} is false in {setting.layer}: `destroy` takes what it protects",
                    fix=f"./cluster.sh set {key} true",
                    place=setting.place,
                )


def _forbidden(subject: Subject, rules: tuple[Forbidden, ...], message: str) -> Iterator[Outcome]:
    good, looked_at = True, 0
    for call in calls(subject.project.files):
        looked_at += 1
        for rule in rules:
            value = call.literals.get(rule.argument)
            if rule.argument in call.literals and call.name.endswith(rule.call) and rule.bad(value):
                good = False
                yield Outcome(
                    status="FAIL",
                    message=f"{call.name}({rule.argument}={value!r}) {rule.why}",
                    fix=f"write {rule.argument}={rule.fix}",
                    place=call.place(subject.project.shown(call.file)),
                )
    if good and looked_at and message:
        yield passed(message)
