"""Is the project whole: parts, keys of the configuration, what only its owner knows, policy pack, workflow, state."""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from clusterwright.checks.preflight.files.project import LAYERS, PROVIDERS, Layer
from clusterwright.checks.preflight.files.values import flag, whole
from clusterwright.checks.preflight.results import Outcome, Place, Status, passed
from clusterwright.checks.preflight.subject import Subject

WORKFLOW = ".github/workflows/infrastructure.yml"
_PARTS = (
    *(f"{layer}/{name}" for layer in LAYERS for name in ("Pulumi.yaml", "__main__.py")),
    "cluster.sh",
    "cloud.sh",
    "pyproject.toml",
    "requirements.txt",
    "gpu_cluster/__init__.py",
    "policy/PulumiPolicy.yaml",
    "policy/__main__.py",
    WORKFLOW,
)
_PLACEHOLDER = re.compile(
    r"\b(YOUR-[A-Z-]+|YOU@EXAMPLE\.COM|ami-YOUR-\w+|TODO|FIXME|CHANGE-?ME|replace@me)\b|EXAMPLEexample|:VERSION\b"
)
_STILL_TO_SET = re.compile(
    r"#\s*Still to set:\s*(?P<command>.*?set (?:--\S+ )*'?(?P<key>[A-Za-z][A-Za-z0-9:._\[\]-]*).*)"
)


def parts(subject: Subject) -> Iterator[Outcome]:
    """Name what is missing of a project, and what its owner changed."""
    project = subject.project
    missing = [part for part in _PARTS if part not in project.files]
    read = {layer.name for layer in project.layers}
    missing += [
        f"{layer}/Pulumi.{project.layers[0].stack}.yaml"
        for layer in LAYERS
        if layer not in read and f"{layer}/Pulumi.yaml" in project.files
    ]
    for part in missing:
        yield Outcome(
            status="FAIL",
            message=f"{part} is missing",
            fix="write the project again into another folder with `clusterwright stack`, and copy the file from there",
            place=Place(file=project.shown(part)),
        )
    if project.changed:
        shown = ", ".join(sorted(project.changed)[:8])
        more = len(project.changed) - 8
        yield passed(f"changed by hand: {shown}{f' and {more} more' if more > 0 else ''}")
    if not missing:
        yield passed(f"{len(project.files)} files, {len(project.layers)} layers, stack {project.layers[0].stack}")


def keys(subject: Subject) -> Iterator[Outcome]:
    """Hold every key against what `Pulumi.yaml` declares: none unknown, none needed and missing."""
    known, still_open = 0, open_keys(subject)
    for layer in subject.project.layers:
        for full in layer.config:
            namespace, _, key = full.rpartition(":")
            if namespace in PROVIDERS.values() or namespace == "pulumi":
                continue
            if namespace not in {"", layer.project}:
                yield _outcome(
                    subject,
                    layer,
                    full,
                    f"{full} is of another project than {layer.project}",
                    f"write {layer.project}:{key}, or remove it",
                )
            elif key not in layer.declared:
                close = get_close_matches(key, list(layer.declared), n=1)
                hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(layer.declared)}"
                yield _outcome(subject, layer, full, f"{layer.name} has no setting {key}", hint)
            elif wrong := _wrong_type(layer.declared[key], layer.config[full]):
                yield _outcome(subject, layer, full, f"{key} {wrong}", f"./cluster.sh set {key} …")
            else:
                known += 1
        given = {full.rpartition(":")[2] for full in layer.config}
        for key, declared in layer.declared.items():
            needed = isinstance(declared, dict) and "default" not in declared and declared.get("type") != "object"
            if needed and key not in given and key not in still_open:
                what = str(declared.get("description", "")).strip()
                yield _outcome(
                    subject,
                    layer,
                    f"{layer.project}:{key}",
                    f"{layer.name} needs {key}{f': {what}' if what else ''}",
                    f"./cluster.sh set {key} …",
                )
    yield passed(f"{known} settings, each declared")


def _wrong_type(declared: object, value: object) -> str:
    """Return how a value differs from the type that is declared for it, empty if it does not."""
    kind = declared.get("type") if isinstance(declared, dict) else None
    if isinstance(value, dict) and set(value) == {"secure"}:
        return ""
    fits = {
        "integer": whole(value) is not None,
        "boolean": flag(value) is not None,
        "string": isinstance(value, str | int | float),
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
    }
    return "" if fits.get(str(kind), True) else f"is {value!r}, not of type {kind}"


def _outcome(subject: Subject, layer: Layer, full: str, message: str, fix: str) -> Outcome:
    return Outcome(status="FAIL", message=message, fix=fix, place=subject.project.place(layer, full))


def open_keys(subject: Subject) -> dict[str, tuple[str, Place]]:
    """Return what the configuration says is still to be set and is not: key to the command for it and its line."""
    found: dict[str, tuple[str, Place]] = {}
    for layer in subject.project.layers:
        given = {full.rpartition(":")[2]: value for full, value in layer.config.items()}
        for number, line in enumerate(layer.document.text.splitlines(), start=1):
            asked = _STILL_TO_SET.match(line)
            if asked is None or _is_given(asked["key"], given):
                continue
            place = Place(file=subject.project.shown(layer.file), line=number, column=1)
            found.setdefault(asked["key"], (asked["command"].strip(), place))
    return found


def filled_in(subject: Subject) -> Iterator[Outcome]:
    """Find what only the owner knows and has not set: lines that say so, and placeholders left as they were."""
    # Of a blueprint's project nothing can be set yet: its owner sees what will be asked for.
    status: Status = "FAIL" if subject.option is None else "UNKNOWN"
    still_open = open_keys(subject)
    for key, (command, place) in still_open.items():
        yield Outcome(status=status, message=f"{key} is still to be set", fix=command, place=place)
    placeholders = [
        setting
        for setting in subject.project.leaves()
        if isinstance(setting.value, str) and _PLACEHOLDER.search(setting.value) and setting.name not in still_open
    ]
    for setting in placeholders:
        yield Outcome(
            status=status,
            message=f"{setting.name} is still the placeholder {setting.value!r}",
            fix=f"./cluster.sh set {setting.name} …",
            place=setting.place,
        )
    if not still_open and not placeholders:
        yield passed("nothing is left to fill in")


def _is_given(key: str, given: dict[str, object]) -> bool:
    value: object = given
    for part in key.rpartition(":")[2].split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value not in (None, "") and not (isinstance(value, str) and _is_open(value))


def _is_open(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value)) or value.endswith(":latest")


def policy_pack(subject: Subject) -> Iterator[Outcome]:
    """Check that the policy pack is there, has rules, pins its SDK, and is used by the workflow."""
    project = subject.project
    modules = [file for file in project.files if file.startswith("policy/") and file.endswith(".py")]
    if "policy/PulumiPolicy.yaml" not in project.files or not modules:
        yield Outcome(status="FAIL", message="there is no policy pack", place=Place(file=project.shown("policy")))
        return
    if "from rules import" in project.files.get("policy/__main__.py", "") and "policy/rules.py" not in project.files:
        yield Outcome(
            status="FAIL", message="the policy pack has no rules", place=Place(file=project.shown("policy/rules.py"))
        )
    requirements = project.files.get("policy/requirements.txt", "")
    if not re.search(r"(?m)^pulumi[_-]policy==", requirements):
        yield Outcome(
            status="WARN",
            message="the policy pack does not pin pulumi-policy",
            fix="write pulumi-policy==<version> into policy/requirements.txt",
            place=Place(file=project.shown("policy/requirements.txt")),
        )
    users = [file for file in (WORKFLOW, "cluster.sh") if "--policy-pack" in project.files.get(file, "")]
    if not users:
        yield Outcome(
            status="FAIL",
            message="neither the workflow nor cluster.sh runs the policy pack",
            fix="add --policy-pack policy to `pulumi preview` and `pulumi up`",
            place=Place(file=project.shown(WORKFLOW)),
        )
    else:
        yield passed(f"{len(modules)} modules, run by {' and '.join(users)}")


#: Folders that a reboot, or the system, empties.
_EMPTIED = re.compile(r"^file:/+(tmp|var/tmp|dev/shm|run)(/|$)")


def state(subject: Subject) -> Iterator[Outcome]:
    """Check that the state of all layers lies in one place where a team can reach it, and where it stays."""
    found: dict[str, str] = {}
    for layer in subject.project.layers:
        file = f"{layer.name}/Pulumi.yaml"
        backend = re.search(r"(?m)^backend:\s*\n\s+url:\s*(\S+)", subject.project.files[file])
        found[file] = backend.group(1).strip("'\"") if backend else ""
    good = True
    for file, url in found.items():
        place = Place(file=subject.project.shown(file), line=1, column=1)
        if _EMPTIED.match(url):
            good = False
            yield Outcome(
                status="FAIL",
                message=f"the state lies in a folder that is emptied: {url}",
                fix=_SHARED_STATE.format(cloud=subject.cloud),
                place=place,
            )
        elif url.startswith("http://"):
            good = False
            yield Outcome(status="FAIL", message=f"the state travels unencrypted: {url}", fix="https", place=place)
    if len(set(found.values())) > 1:
        good = False
        yield Outcome(
            status="FAIL",
            message="the layers' states lie in several places, so that none finds what the one below it made: "
            + ", ".join(f"{file}: {url or 'where pulumi is logged in'}" for file, url in found.items()),
            fix="the same backend.url in each Pulumi.yaml",
            place=Place(file=subject.project.shown(next(iter(found))), line=1, column=1),
        )
    local = [file for file, url in found.items() if url.startswith("file:")]
    if local and good:
        good = False
        yield Outcome(
            status="WARN",
            message=f"the state lies on one machine: {', '.join(local)}",
            fix=_SHARED_STATE.format(cloud=subject.cloud),
            place=Place(file=subject.project.shown(local[0]), line=1, column=1),
        )
    if good:
        yield passed("no state on a single machine")


_SHARED_STATE = (
    "set targets.{cloud}.state.url of the blueprint, or backend.url in each Pulumi.yaml, to a bucket or Pulumi Cloud"
)
