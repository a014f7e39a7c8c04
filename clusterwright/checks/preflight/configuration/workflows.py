"""Continuous integration of a project: what its workflows may do, whose code they run, and what they check."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.blueprint.reading.document import Document, parsed
from clusterwright.checks.preflight.configuration.frame import WORKFLOW
from clusterwright.checks.preflight.results import Outcome, Place, Status, passed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import ClusterwrightError

_FILE = re.compile(r"^\.github/(workflows|actions)/.*\.ya?ml$")
_LONG_LIVED = re.compile(
    r"secrets\.(AWS_ACCESS_KEY_ID|AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN|GOOGLE_CREDENTIALS|GCP_SA_KEY|GCP_CREDENTIALS"
    r"|AZURE_CREDENTIALS|ARM_CLIENT_SECRET|AZURE_CLIENT_SECRET)"
)
_COMMIT = re.compile(r"@[0-9a-f]{40}$|@sha256:[0-9a-f]{64}$")
_RELEASE = re.compile(r"@v?[0-9][\w.-]*$")
#: Events that run with the repository's secrets, whoever started them.
_WITH_SECRETS = ("pull_request_target", "workflow_run", "issue_comment", "issues", "discussion", "discussion_comment")
#: What whoever opens a pull request or an issue writes.
_FROM_OUTSIDE = re.compile(
    r"\$\{\{[^}]*\bgithub\.(head_ref|event\.(?:[\w.*\[\]]*\.)?(?:title|body|message|name|email|ref|label|default_branch|page_name))\b[^}]*\}\}"
)
_CHANGES = re.compile(r"(cluster\.sh|pulumi\b[^|;&\n]*)\s+(up|destroy|down|cancel)\b")
_CHECKS = re.compile(r"pytest|ruff|pyright|shellcheck|preview|preflight|policy")
_PREVIEW = re.compile(r"pulumi preview|cluster\.sh preview|command:\s*preview")
_SHOWS = re.compile(r"\b(echo|printf|cat)\b[^|\n]*\$\{\{\s*secrets\.")
_NEVER = re.compile(r"^\s*(\$\{\{\s*)?(false|!\s*true|0)(\s*\}\})?\s*$", re.IGNORECASE)


def workflow(subject: Subject) -> Iterator[Outcome]:
    """Check the workflows: a preview on pull requests, least permissions, fixed actions, no long-lived credentials."""
    project = subject.project
    files = {name: content for name, content in project.files.items() if _FILE.match(name)}
    if WORKFLOW not in files:
        yield Outcome(status="WARN", message="there is no workflow", place=Place(file=project.shown(WORKFLOW)))
    good = True
    for name, content in files.items():
        shown = project.shown(name)
        try:
            document = parsed(content, name=shown)
        except ClusterwrightError as error:
            good = False
            yield Outcome(
                status="FAIL", message=f"the workflow cannot be read: {error.message}", place=Place(file=shown)
            )
            continue
        for status, message, fix, line in (*_lines(content), *_whole(name, content, document)):
            good = False
            yield Outcome(status=status, message=message, fix=fix, place=Place(file=shown, line=line, column=1))
    if good and files:
        yield passed("preview on pull requests, no stored credentials, actions by their commits")


Found = tuple[Status, str, str, int]


def _lines(content: str) -> Iterator[Found]:
    for number, line in enumerate(content.splitlines(), start=1):
        stored = _LONG_LIVED.search(line)
        if stored:
            fix = "log in by OpenID Connect: permissions id-token: write, and a role that trusts the repository"
            yield "FAIL", f"the workflow logs in with the stored credential {stored.group(1)}", fix, number
        if re.search(r"permissions:\s*write-all", line):
            yield "FAIL", "the workflow may write everything", "grant contents: read and id-token: write only", number
        if _SHOWS.search(line):
            yield "FAIL", "the workflow prints a secret", "hand it on as an environment variable", number


def _whole(name: str, content: str, document: Document) -> Iterator[Found]:
    value = document.value
    if not isinstance(value, dict):
        yield "FAIL", "the workflow is empty", "put it back", 1
        return
    events = _events(value)
    jobs = {str(key): job for key, job in _mapping(value.get("jobs")).items() if isinstance(job, dict)}
    for event in sorted(set(events) & set(_WITH_SECRETS)):
        yield (
            "FAIL",
            f"the workflow runs at {event} with the repository's secrets: anybody can start it",
            "on: pull_request, which gives forks none",
            _line(document, ("on", event)) or _line(document, ("on",)),
        )
    if "permissions" not in value and not (jobs and all("permissions" in job for job in jobs.values())):
        yield (
            "WARN",
            "the workflow leaves its permissions to the repository's default",
            "add permissions: contents: read, id-token: write",
            1,
        )
    if name == WORKFLOW and not _PREVIEW.search(content):
        yield "WARN", "the workflow runs no preview", "run ./cluster.sh preview on pull requests", 1
    for key, job in jobs.items():
        yield from _job(document, ("jobs", key), job, events)


def _job(
    document: Document, path: tuple[str | int, ...], job: Mapping[str, Any], events: tuple[str, ...]
) -> Iterator[Found]:
    if _NEVER.match(str(job.get("if", ""))):
        yield "FAIL", f"the job {path[-1]} never runs", "put its condition back", _line(document, (*path, "if"))
    if _reusable(job.get("uses")):
        yield from _action(str(job["uses"]), _line(document, (*path, "uses")))
    steps = job.get("steps")
    for place, step in enumerate(steps if isinstance(steps, list) else []):
        if isinstance(step, dict):
            yield from _step(document, (*path, "steps", place), step, events)


def _step(
    document: Document, path: tuple[str | int, ...], step: Mapping[str, Any], events: tuple[str, ...]
) -> Iterator[Found]:
    run = str(step.get("run", ""))
    at = _line(document, (*path, "run")) or _line(document, path)
    if _reusable(step.get("uses")):
        yield from _action(str(step["uses"]), _line(document, (*path, "uses")))
    outside = _FROM_OUTSIDE.search(run)
    if outside:
        yield (
            "FAIL",
            f"the workflow runs what others write as a command: {outside[0]}",
            "hand it on as an environment variable",
            at,
        )
    changes = _CHANGES.search(run)
    if changes and any(event.startswith("pull_request") for event in events):
        yield (
            "FAIL",
            f"a pull request changes the cloud: {changes[0]}",
            "preview; bring changes up by hand, or after the merge",
            at,
        )
    checks = bool(_CHECKS.search(f"{run} {step.get('uses', '')} {step.get('name', '')}"))
    if checks and (_NEVER.match(str(step.get("if", "")))):
        yield "FAIL", f"the check {step.get('name') or run.strip()[:40]} never runs", "put its condition back", at
    if checks and (step.get("continue-on-error") in (True, "true") or re.search(r"\|\|\s*(true|:)\s*($|\n)", run)):
        yield (
            "FAIL",
            f"the check {step.get('name') or run.strip()[:40]} may fail, and nobody sees it",
            "let it fail",
            at,
        )


def _reusable(uses: object) -> bool:
    return isinstance(uses, str) and not uses.startswith(("./", "docker://localhost"))


def _action(uses: str, line: int) -> Iterator[Found]:
    if _COMMIT.search(uses):
        return
    fix = "name the commit of a release, and the release beside it"
    if _RELEASE.search(uses):
        yield "WARN", f"{uses} is a release, whose tag can be moved", fix, line
    else:
        yield "FAIL", f"{uses} is whatever is there on the day", fix, line


def _events(value: Mapping[str, Any]) -> tuple[str, ...]:
    given = value.get("on")
    if isinstance(given, str):
        return (given,)
    return tuple(str(one) for one in given) if isinstance(given, list | dict) else ()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _line(document: Document, path: tuple[str | int, ...]) -> int:
    found = document.keys.get(path) or document.values.get(path)
    return found.line if found is not None else 0
