"""Reads a fine-tuning job for its proofs: the job, its plan, and its settings in files or in a ConfigMap."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

from clusterwright.checks.prove.kubernetes.objects import read_yaml, value_at
from clusterwright.checks.prove.papers import CellError, Papers, absent
from clusterwright.checks.prove.yaml_text import YamlTextError, yaml_documents
from clusterwright.errors import Finding
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan, FinetuningWorkload
from clusterwright.sizing.finetuning.job import NONE

SCRIPT, MANIFEST = "launch/finetune.sbatch", "kubernetes/jobs/finetune.yaml"
ACCELERATE, TRL, TORCHTUNE, BRIDGE = "accelerate.yaml", "trl.yaml", "torchtune.yaml", "bridge.yaml"
_LOW_RANK = ("lora", "qlora", "dora")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """One file of settings: beside the script, or an entry of the manifest's ConfigMap.

    Attributes:
        file: that holds it; name: its own; start: lines of the file before it.
        lines: its text; body: its content, nothing of a program.
    """

    file: str
    name: str
    start: int
    lines: Sequence[str]
    body: Mapping[str, Any]

    def place(self, key: str) -> str:
        """Return file and line of a key, the file alone where it is not there."""
        number = 0
        for part in key.split("."):
            found = (
                at
                for at, line in enumerate(self.lines[number:], start=number + 1)
                if line.strip().startswith(f"{part}:")
            )
            number = next(found, 0)
            if not number:
                return self.file
        return f"{self.file}:{self.start + number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningJob:
    """A job with what is decided about it.

    Attributes:
        file: script or manifest; settings: by name.
    """

    papers: Papers
    file: str
    plan: FinetuningPlan
    option: FinetuningOption
    settings: Mapping[str, Settings]

    @property
    def work(self) -> FinetuningWorkload:
        """The run as it was sized."""
        return self.plan.workload

    @property
    def machines(self) -> int:
        """Hosts that train."""
        return self.option.training_nodes * self.papers.documents.design.inventory.hosts_per_node

    @property
    def processes(self) -> int:
        """Processes of a host."""
        return self.option.performance.layout.gpus // self.machines

    @property
    def pairs(self) -> int:
        """Sequences of a sample that a pass takes together: both answers of a pair."""
        return 2 if self.work.objective == "dpo" else 1

    @property
    def packs(self) -> int:
        """Sequences of a pass that one pack of Megatron-Bridge stands in for."""
        return self.option.performance.layout.micro_batch if self.work.packing else 1

    @property
    def low_rank(self) -> bool:
        """Whether low-rank matrices are trained."""
        return self.work.method in _LOW_RANK

    @property
    def divided(self) -> bool:
        """Whether weights and states are divided over accelerators."""
        return self.option.performance.layout.sharding != NONE


def settings_of(papers: Papers, file: str) -> Iterator[Settings]:
    """Yield the files of settings that a job has.

    Raises:
        CellError: one cannot be read.
    """
    site = papers.documents.site
    if file == SCRIPT:
        names = {path.name for path in (site / "launch").glob("*.py")} | {ACCELERATE, TRL, TORCHTUNE, BRIDGE}
        for name in sorted(names):
            if (site / "launch" / name).is_file():
                text = papers.text(f"launch/{name}")
                yield Settings(
                    file=f"launch/{name}", name=name, start=0, lines=text.splitlines(), body=_body(name, text)
                )
        return
    whole = papers.text(file).splitlines()
    for document in read_yaml(site / file):
        if document.get("kind") != "ConfigMap":
            continue
        for name, text in (document.get("data") or {}).items():
            start = next((at for at, line in enumerate(whole, start=1) if line.strip().startswith(f"{name}:")), 0)
            yield Settings(
                file=file, name=str(name), start=start, lines=str(text).splitlines(), body=_body(str(name), str(text))
            )


def _body(name: str, text: str) -> Mapping[str, Any]:
    if name.endswith(".py"):
        return {}
    try:
        bodies = list(yaml_documents(text))
    except YamlTextError as error:
        raise CellError(f"{name} cannot be read: {error}") from None
    if len(bodies) != 1 or not isinstance(bodies[0], Mapping):
        raise CellError(f"{name} does not hold one object")
    return bodies[0]


def compared(
    one: Settings | None, id_: str, wanted: Mapping[str, tuple[object, str]], *, absent_is: Mapping[str, object] = {}
) -> Iterator[Finding]:
    """Yield the keys of a file that have another value than the plan's; those of the framework where one is left out.

    Args:
        one: the file, None where there is none.
        id_: of the rule.
        wanted: values by path, each with the reason; None for a key that is not there.
        absent_is: what a key stands for that is left out.
    """
    if one is None:
        return
    for path, (expected, rule) in wanted.items():
        said = value_at(one.body, path)
        if said is None:
            said = absent_is.get(path)
        if not _same(said, expected):
            yield absent(id_, one.place(path), path, said, expected, rule)


def _same(said: object, expected: object) -> bool:
    if isinstance(said, bool) or isinstance(expected, bool):
        return said is expected
    if isinstance(said, int | float) and isinstance(expected, int | float):
        return isclose(said, expected, rel_tol=1e-9)
    return said == expected
