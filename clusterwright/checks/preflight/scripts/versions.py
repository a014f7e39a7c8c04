"""Are versions of packages, snaps and add-ons named: what is not may differ from one machine or cluster to the next."""

import csv
import re
from collections.abc import Iterator

from clusterwright.checks.preflight.files.shell import Line, is_script, lines
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject

TABLE = "node/software.csv"
_ARCHIVE = "ubuntu-archive"
_ADD_ON = "aws:eks/addon:Addon"
_MOST_SHOWN = 8
#: Tags that are given to another image with every release.
_MOVING = re.compile(r"^(latest|main|master|stable|nightly|edge|dev)\b")
#: Commands and arrays of scripts that name packages of the distribution, up to the end of the command.
_PACKAGES = re.compile(
    r"\b(?:install_missing|install_packages|(?:apt|apt-get|aptitude|yum|dnf)\s+(?:-\S+\s+)*install)\s+([^;&|<>)]*)"
    r"|\bpackages\+?=\(([^)]*)\)"
)
#: What scripts do on one cloud alone, from the label of a `case` to its end.
_ARM = re.compile(r"\(?((?:aws|azure|gcp|local)(?:\s*\|\s*(?:aws|azure|gcp|local))*)\)")
#: What takes packages from the archive of the table's moment, unless it says that they are a vendor's.
_BY_MOMENT = re.compile(r"\binstall_missing\b|\bpackages\+?=\(")
_OF_VENDOR = re.compile(r"\bARCHIVE=vendor\b")
_SNAP = re.compile(r"\bsnap\s+install\s+([^;&|<>)]*)")
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
#: What is fetched by other means, and the sign of a version in the same command.
_ELSEWHERE = (
    (
        re.compile(r"\bpip[0-9.]*\s+install\b"),
        re.compile(r"--require-hashes|\s-r\s|--requirement|==|\s-e\s|\s\.(\s|$)"),
    ),
    (re.compile(r"\bnpm\s+(install|i)\s+(-g\s+)?[@a-z]"), re.compile(r"[a-z]@[0-9]")),
    (re.compile(r"\bgo\s+install\s"), re.compile(r"@v[0-9]")),
    (re.compile(r"\bcargo\s+install\s"), re.compile(r"--version|--rev|@[0-9]|--path")),
    (re.compile(r"\bgem\s+install\s"), re.compile(r"\s(-v|--version)\b|:[0-9]")),
    (re.compile(r"\bhelm\s+(upgrade|install)\b"), re.compile(r"--version\b|@sha256:|\.tgz\b")),
    (re.compile(r"\bgit\s+(\S+\s+)*clone\b"), re.compile(r"--branch|\s-b\s|--revision")),
    (
        re.compile(r"\b(docker|podman|ctr|crictl|nerdctl)\s+(run|pull)\b|\benroot\s+import\b"),
        re.compile(r"@sha256:|:v?[0-9][\w.-]*|:[\w.-]*[0-9][\w.-]*\b|\$"),
    ),
)


def versions_named(subject: Subject) -> Iterator[Outcome]:
    """Look at what scripts of nodes install, at what the program runs with, and at the add-ons that it asks for."""
    yield from _installed(subject)
    yield from _from_elsewhere(subject)
    yield from _locked(subject)
    yield from _add_ons(subject)


def _installed(subject: Subject) -> Iterator[Outcome]:
    pinned = _pinned(subject.project.files.get(TABLE, ""))
    moment = pinned.get(("", _ARCHIVE), "")
    floating: dict[str, None] = {}
    installed: dict[str, None] = {}
    for name, content in subject.project.files.items():
        if not name.startswith("node/") or not is_script(name, content):
            continue
        found = list(lines(content))
        pinned_later = any(re.search(r"\bgit\b.*\b(checkout|switch|reset)\b", line.text) for line in found)
        arm = ""
        for line in found:
            opened = _ARM.match(line.text)
            arm = opened[1] if opened else "" if line.text.endswith(";;") else arm
            if line.written or (arm and subject.cloud not in arm):
                continue
            dated = bool(moment and _BY_MOMENT.search(line.text) and not _OF_VENDOR.search(line.text))
            for kind, package in (*_packages(line), *_snaps(line)):
                installed[f"{package} ({kind})"] = None
                if (kind, package) not in pinned and not (dated and kind == "apt"):
                    floating[f"{package} ({kind})"] = None
            if elsewhere := _elsewhere(line.text, pinned_later=pinned_later):
                yield Outcome(
                    status="WARN",
                    message=f"{name} installs without a version: {elsewhere}",
                    fix="name the version, and its hash where the command takes one",
                    place=Place(file=subject.project.shown(name), line=line.number, column=1),
                )
    if floating:
        shown = ", ".join(list(floating)[:_MOST_SHOWN])
        more = f" and {len(floating) - _MOST_SHOWN} more" if len(floating) > _MOST_SHOWN else ""
        yield Outcome(
            status="WARN",
            message=f"{len(floating)} of {len(installed)} packages come in the version of their day: {shown}{more}",
            fix="add the rows that a machine's boot prints, or a moment of Ubuntu's archive (node/README.md, Versions)",
            place=Place(file=subject.project.shown(TABLE)),
        )
    elif installed:
        of = f", or of Ubuntu's archive of {moment}" if moment else ""
        yield passed(f"{len(installed)} packages in {TABLE}{of}")


def _from_elsewhere(subject: Subject) -> Iterator[Outcome]:
    """Check that what is not of the distribution is one thing for ever: a commit, a release, a key."""
    content = subject.project.files.get(TABLE, "")
    rows = csv.DictReader(content.splitlines())
    for number, row in enumerate(rows, start=2):
        name, source, reference = (str(row.get(key) or "") for key in ("name", "source", "reference"))
        why = _moves(source, reference)
        if why:
            yield Outcome(
                status="FAIL",
                message=f"{TABLE}: {name} {why}",
                fix="a commit of git, a release of an image, or the fingerprint of an archive's key",
                place=Place(file=subject.project.shown(TABLE), line=number, column=1),
            )


def _moves(source: str, reference: str) -> str:
    if source.startswith("http://"):
        return f"comes from {source}, over a connection that anybody on the way can change"
    if source.endswith(".git"):
        return (
            ""
            if re.fullmatch(r"[0-9a-f]{40}", reference)
            else f"is {reference or 'nothing'} of git, which moves: name a commit"
        )
    if source.startswith("https://"):
        key = re.fullmatch(r"[0-9A-F]{40}", reference)
        return "" if key or not reference else f"has the key {reference}, which is no fingerprint of 40 digits"
    if "/" in source and not (re.search(r"\d", reference) and not _MOVING.search(reference)):
        return f"is the image {reference or 'of no release'}, which moves: name a release"
    return ""


def _locked(subject: Subject) -> Iterator[Outcome]:
    """Check that what the program runs with has a version and hashes, and that nothing else is asked for."""
    files = subject.project.files
    locked = {
        _package(line): line for line in _requirements(files.get("constraints.txt", "")) if not line.startswith("-")
    }
    for name, line in locked.items():
        if "==" not in line or "--hash=" not in line:
            yield Outcome(
                status="FAIL",
                message=f"constraints.txt has {name} without {'its hashes' if '==' in line else 'a version'}",
                fix="uv pip compile --generate-hashes",
                place=Place(file=subject.project.shown("constraints.txt")),
            )
    for line in _requirements(files.get("requirements.txt", "")):
        if locked and not line.startswith("-") and _package(line) not in locked:
            yield Outcome(
                status="FAIL",
                message=f"requirements.txt asks for {_package(line)}, which constraints.txt does not have",
                fix="uv pip compile --generate-hashes requirements.txt -o constraints.txt",
                place=Place(file=subject.project.shown("requirements.txt")),
            )


def _requirements(content: str) -> Iterator[str]:
    """Yield the requirements of a file, continued lines as one."""
    for line in re.sub(r"\\\n", " ", content).splitlines():
        plain = re.sub(r"(^|\s)#.*", "", line).strip()
        if plain:
            yield plain


def _package(line: str) -> str:
    return re.split(r"[\s=<>~!;\[@]", line, maxsplit=1)[0].lower().replace("_", "-")


def _pinned(table: str) -> dict[tuple[str, str], str]:
    """Return the versions of the table by kind and name of the package; the archive's moment has no kind."""
    return {
        ("" if row.get("name") == _ARCHIVE else row.get("source") or "", row.get("name") or ""): row.get("version")
        or ""
        for row in csv.DictReader(table.splitlines())
        if row.get("version")
    }


def _packages(line: Line) -> Iterator[tuple[str, str]]:
    """Yield the packages that a line names itself; those in variables are named elsewhere."""
    for found in _PACKAGES.finditer(line.text):
        for word in (found[1] or found[2] or "").split():
            name = word.strip("\"'")
            if _NAME.fullmatch(name) and "=" not in name:
                yield "apt", name


def _snaps(line: Line) -> Iterator[tuple[str, str]]:
    for found in _SNAP.finditer(line.text):
        # The table decides of a revision in a variable.
        if re.search(r"--revision[= ]+[\"']?[0-9]", found[1]):
            continue
        yield from (("snap", word) for word in found[1].split() if _NAME.fullmatch(word))


def _elsewhere(text: str, *, pinned_later: bool) -> str:
    """Return the command of a line that installs something without its version, empty for none."""
    for command, version in _ELSEWHERE:
        found = command.search(text)
        if found is None or version.search(text[found.start() :]):
            continue
        if "clone" in found[0] and pinned_later:
            continue
        return text[found.start() :][:80]
    return ""


def _add_ons(subject: Subject) -> Iterator[Outcome]:
    """Check the add-ons that EKS keeps, which get its default of the day without a version."""
    run = subject.recorded.run if subject.recorded is not None else None
    if run is None:
        return
    asked = [one for one in run.whole.cloud_resources if one.type == _ADD_ON]
    floating = [str(one.inputs.get("addonName")) for one in asked if not one.inputs.get("addonVersion")]
    if floating:
        yield Outcome(
            status="WARN",
            message=f"{len(floating)} of {len(asked)} add-ons get EKS's default of the day: {', '.join(floating)}",
            fix="./cluster.sh set addOnVersions.NAME VERSION; the cluster's output add_on_versions says which",
            place=Place(file=subject.project.shown("cluster/__main__.py")),
        )
    elif asked:
        yield passed(f"{len(asked)} add-ons in a version")
