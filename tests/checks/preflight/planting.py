"""Generated projects with edits in them, and what `clusterwright preflight` says of each."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.checks.preflight.files.reading import read_project
from clusterwright.checks.preflight.judging import Recorded
from clusterwright.checks.preflight.offline import offline
from clusterwright.checks.preflight.recording import Recording
from clusterwright.checks.preflight.records import Run
from clusterwright.checks.preflight.results import Result
from clusterwright.checks.preflight.subject import Subject
from clusterwright.cli.planning import plan_of
from clusterwright.directory_settings import Directory
from clusterwright.outputs.deliverables import cloud_files
from clusterwright.outputs.project.configuration.shared import stack_name
from clusterwright.outputs.project.fill_ins import fill_ins
from clusterwright.outputs.project.stack import declared_keys
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import USD
from clusterwright.pricing.book import PriceBook
from tests.stacks.cases import TYPICAL, VARIANTS
from tests.stacks.projects import _SECRET, _TYPED, STACK, _filled, _secrets, plan_for, run, set_config

HERE = Path(__file__).parent
NODES = 4
#: The small model of `plan_for`.
TRAINING = "training"
#: Settings of a small training in a network of the account's, by cloud, and of one whose users a directory has.
_THEIRS = {
    # Ids of projects on Google Cloud have six characters or more.
    cloud: json.loads(json.dumps(dict(VARIANTS[cloud]["existing network"])).replace("/host/", "/their-host/"))
    for cloud in TYPICAL
}
_DIRECTORY = Directory(
    uris=("ldaps://ldap1.example.com", "ldaps://ldap2.example.com"),
    base="ou=people,dc=example,dc=com",
    bind_dn="cn=cluster,ou=services,dc=example,dc=com",
    allowed_groups=("hpc-users",),
    administrators="hpc-admins",
    networks=("10.8.0.0/24",),
)
#: A small model that is served from slices of GPUs: blueprint and values of its own.
_SLICES = (
    "serve-llama3-70b",
    ["workload.options={mig_slices: true}", "workload.model=llama-3.2-3b", "traffic.users=500"],
)
EXISTING, DIRECTORY, SLICES = "existing-network", "directory", "slices"
_ANSWERS = {
    **_TYPED,
    "adminSshPublicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@example",
}
#: What a layer's run depends on; scripts of nodes are only handed on.
_PROGRAM = re.compile(r"(^gpu_cluster/.*\.py$)|(^\w+/(__main__\.py|Pulumi[^/]*\.yaml)$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One edit of a project.

    Attributes:
        name: kind of a mistake, or what an edit is for.
        group: edits of one group and file do not meet in one project.
        job: what the project is for: a small training, a blueprint of `blueprints/` by its name, or one of PARTICULAR.
        caught, said: check that must notice a mistake, and words of its message; empty for legitimate edits.
    """

    name: str
    cloud: str
    scheduler: str
    file: str = ""
    old: str = ""
    regex: str = ""
    new: str = ""
    append: str = ""
    new_file: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    group: str = "a"
    alone: bool = False
    job: str = TRAINING
    caught: str = ""
    said: str = ""

    def __hash__(self) -> int:
        return hash((self.name, self.cloud, self.scheduler, self.file, self.old, self.append, str(self.config)))

    def __str__(self) -> str:
        job = "" if self.job == TRAINING else f"{self.job}-"
        return f"{job}{self.cloud}-{self.scheduler}-{self.name}-{self.file or ','.join(self.config)}".replace(" ", "_")

    def apply(self, project: Path) -> None:
        """Change a project; an edit that finds nothing to change is a mistake of the table."""
        if self.file:
            path = project / self.file
            before = path.read_text() if path.exists() else ""
            after = before + self.append
            if self.old:
                assert self.old in before, f"{self}: {self.old!r} is not there"
                after = before.replace(self.old, self.new, 1)
            if self.regex:
                after = re.sub(self.regex, self.new, before)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.new_file or after)
            assert path.read_text() != before, f"{self} changes nothing"
        if self.config:
            set_config(project, dict(self.config))


def edits(*names: str) -> tuple[Edit, ...]:
    """Return the edits of some tables."""
    found = []
    for name in names:
        for row in YAML(typ="safe").load(HERE / name):
            named = row.pop("kind", None) or row.pop("edit")
            row.pop("edit", None)
            found.append(Edit(name=named, **row))
    return tuple(found)


@cache
def _plan(cloud: str, scheduler: str, job: str) -> tuple[Plan, Option]:
    if job in (TRAINING, EXISTING, DIRECTORY):
        # Prices, and with them the budget, are of as many nodes as the project has.
        plan = plan_for(cloud, TYPICAL[cloud], nodes=NODES)
        if job == DIRECTORY:
            plan = replace(plan, cluster=replace(plan.cluster, directory=_DIRECTORY))
    elif job == SLICES:
        name, values = _SLICES
        plan = plan_of(assets.root() / "blueprints" / f"{name}.yaml", values, cloud)
    else:
        plan = plan_of(assets.root() / "blueprints" / f"{job}.yaml", None, cloud)
    return plan, replace(plan.options[0], deployment=replace(plan.options[0].deployment, scheduler=scheduler))


@cache
def _files(cloud: str, scheduler: str, job: str) -> dict[str, bytes]:
    plan, option = _plan(cloud, scheduler, job)
    # The monitor of the tests knows one stack.
    written = stack_name(plan, option)
    return {
        name.replace(f"Pulumi.{written}.", f"Pulumi.{STACK}."): file.content.replace(
            f"/{written}\n".encode(), f"/{STACK}\n".encode()
        )
        for name, file in cloud_files(plan, option, load(), USD).items()
    }


def write(cloud: str, scheduler: str, folder: Path, job: str = TRAINING) -> None:
    """Write a project with its jobs, in which what its README asks for is set."""
    for name, content in _set_up(cloud, scheduler, job).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@cache
def _set_up(cloud: str, scheduler: str, job: str) -> dict[str, bytes]:
    """Return the files of a project in which what its README asks for is set, which takes seconds."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _set_what_is_asked(cloud, scheduler, folder, job)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _set_what_is_asked(cloud: str, scheduler: str, folder: Path, job: str) -> None:
    plan, option = _plan(cloud, scheduler, job)
    files = cloud_files(plan, option, load(), USD)
    for name, content in _files(cloud, scheduler, job).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    asked = {
        entry.key.partition("[")[0]: entry.value
        for entry in fill_ins(option, load().instances[option.cluster.instance], declared_keys(files))
    }
    typed = {key: _ANSWERS[key] if key in _ANSWERS else _filled(text) for key, text in asked.items()}
    theirs = _THEIRS[cloud] if job == EXISTING else {}
    set_config(folder, {"alertEmail": "me@example.com", **typed, **theirs, **_secrets(folder)})
    for path in folder.glob("*/Pulumi.*.yaml"):
        # As `pulumi config set --secret` writes them.
        text = path.read_text()
        for key, value in _SECRET.items():
            text = re.sub(rf"(:{key}:) {re.escape(value)}", rf"\1\n    secure: v1:AAAA:{'B' * 24}", text)
        path.write_text(re.sub(r"(?m)^# Still to set:.*\n", "", text))


def batches(wanted: Sequence[Edit]) -> Iterator[tuple[Edit, ...]]:
    """Put edits together that cannot hide each other, since a run of a program is what takes time."""
    together: dict[tuple[str, str, str, str], list[Edit]] = {}
    for one in wanted:
        if one.alone:
            yield (one,)
            continue
        together.setdefault((one.cloud, one.scheduler, one.job, one.group), []).append(one)
    for group in together.values():
        yield tuple(group)


_RUNS: dict[tuple[tuple[str, str], ...], Run] = {}


def _recorded(project: Path) -> Run:
    """Return what a project asks for, run once for each program and configuration."""
    key = tuple(
        sorted(
            (name, path.read_text())
            for path in project.rglob("*")
            if path.is_file() and _PROGRAM.search(name := path.relative_to(project).as_posix())
        )
    )
    if key not in _RUNS:
        _RUNS[key] = run(project)
    return _RUNS[key]


@cache
def preflight(batch: tuple[Edit, ...], cloud: str, scheduler: str) -> tuple[Result, ...]:
    """Return what preflight says of a project with some edits."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        write(cloud, scheduler, project, batch[0].job if batch else TRAINING)
        for one in batch:
            one.apply(project)
        read = read_project(project, manifest="none")
        recorded = Recorded(recording=Recording(run=_recorded(project)), folder=project, cloud=cloud)
        return offline(Subject(project=read, catalogue=load(), book=PriceBook.open(), recorded=recorded))
