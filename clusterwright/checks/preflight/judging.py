"""What the rules of the policy packs say of what a project's program asks for, over all of its layers."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from clusterwright import assets
from clusterwright.checks.preflight.files.project import Project
from clusterwright.checks.preflight.recording import Recording, environment_of, record
from clusterwright.checks.preflight.records import REFERENCE, SECRET, UNKNOWN, Resource, Run, texts

_TIMEOUT_S = 300
#: The pack's own word for what is known after deployment only.
_NOT_KNOWN = "unknown until deployed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """What one rule has against one resource."""

    rule: str
    urn: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What a pack says of a run.

    Attributes:
        rules: name of each rule to what it is about.
        violations: of rules.
        shown: name of a rule to the URNs of the resources by which it holds.
        error: why the pack could not judge; empty where it did.
    """

    rules: Mapping[str, str]
    violations: tuple[Violation, ...]
    shown: Mapping[str, tuple[str, ...]]
    error: str = ""

    def about(self, subject: str) -> tuple[Violation, ...]:
        """Return the violations of rules about one subject."""
        return tuple(one for one in self.violations if self.rules.get(one.rule) == subject)

    def shown_about(self, subject: str) -> tuple[str, ...]:
        """Return the URNs of resources by which rules about one subject hold."""
        return tuple(
            dict.fromkeys(urn for rule, urns in self.shown.items() if self.rules[rule] == subject for urn in urns)
        )


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A project's recording with what the packs say of it.

    Attributes:
        recording: of the program.
        folder: of the project, where the project's own pack lies.
        cloud: whose shipped pack judges.
        again: records the program in another folder, which holds it with changes.
    """

    recording: Recording
    folder: Path | None
    cloud: str
    again: Callable[[Path], Recording] | None = None

    @property
    def run(self) -> Run | None:
        """The records of the layers, None where the program was not run."""
        return self.recording.run

    @cached_property
    def shipped(self) -> Judgement:
        """The judgement of the pack that Clusterwright ships, whatever became of the project's own."""
        stacks = assets.root() / "stacks"
        return judge(self._registered, (stacks / self.cloud / "base" / "policy", stacks / "every_cloud" / "policy"))

    @cached_property
    def own(self) -> Judgement:
        """The judgement of the project's own pack."""
        return judge(self._registered, () if self.folder is None else (self.folder / "policy",))

    def run_with(self, files: Mapping[str, str]) -> Run | None:
        """Return what the program asks for with other files in it; None where it cannot be run once more.

        Args:
            files: path to content.
        """
        if self.folder is None or self.again is None:
            return None
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "project"
            shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns(".*", "tests", "policy", "__pycache__"))
            for name, content in files.items():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (copy / name).write_text(content, encoding="utf-8")
            return self.again(copy).run

    @cached_property
    def _registered(self) -> list[dict[str, Any]]:
        return [] if self.run is None else list(registered(self.run))


def recorded_project(project: Project, folder: Path, *, python: Path | None = None) -> Recorded:
    """Run a project's program and return what it asked for.

    Args:
        project: as read from the folder.
        folder: that holds it.
        python: interpreter of an environment with the SDKs; the project's own by default.
    """
    reference = next((str(one.value) for one in project.settings("foundationStack")), "")
    interpreter = python if python is not None else environment_of(folder)

    def recording_of(place: Path) -> Recording:
        return record(
            place,
            layers=[layer.name for layer in project.layers],
            stack=project.layers[0].stack,
            organization=reference.partition("/")[0] or "organization",
            python=interpreter,
        )

    return Recorded(recording=recording_of(folder), folder=folder, cloud=project.cloud, again=recording_of)


def registered(run: Run) -> Iterator[dict[str, Any]]:
    """Yield what the layers ask for as rules of a stack see it, all layers as one.

    A value that is an id of a resource of another layer leads there, as one of the same layer does by the SDK's word.
    """
    resources = run.whole.cloud_resources
    owner = {text: one.urn for one in resources for text in one.identities}
    for one in resources:
        behind = {name: list(urns) for name, urns in one.property_dependencies.items()}
        for name, value in one.inputs.items():
            found = (owner[text] for text, _ in texts(value) if text in owner and owner[text] != one.urn)
            behind[name] = list(dict.fromkeys([*behind.get(name, ()), *found]))
        yield {
            "urn": one.urn,
            "type": one.type,
            "inputs": _plain(one.inputs),
            "behind": behind,
            "protect": one.protect,
            "ignores": list(one.ignore_changes),
        }


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a recorded value as the packs see it."""
    if isinstance(value, Mapping):
        if SECRET in value:
            return _plain(value[SECRET])
        if UNKNOWN in value:
            return _NOT_KNOWN
        if REFERENCE in value:
            return value[REFERENCE]
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def judge(resources: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> Judgement:
    """Hold resources against a pack's rules.

    Args:
        resources: as `registered` yields them.
        folders: that together hold the pack's modules.
    """
    script = Path(__file__).with_name("run_rules.py")
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, with a script of this package
            [sys.executable, "-I", script, *(str(folder.resolve()) for folder in folders)],
            input=json.dumps(list(resources)),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        document = json.loads(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        document = None
    if document is None:
        return Judgement(rules={}, violations=(), shown={}, error="the policy pack's rules cannot be run")
    return Judgement(
        rules=document["rules"],
        violations=tuple(Violation(**one) for one in document["violations"]),
        shown={name: tuple(urns) for name, urns in document["shown"].items()},
    )


def named(urn: str) -> str:
    """Return a resource as people know it: its name and the last part of its type."""
    kind, _, name = urn.split("::", 2)[2].rpartition("::")
    return f"{name} ({kind.rpartition(':')[2]})"


def resource_of(run: Run, urn: str) -> Resource | None:
    """Return a resource by its URN."""
    return next((one for one in run.whole.resources if one.urn == urn), None)
