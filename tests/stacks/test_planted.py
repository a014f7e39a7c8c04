"""Every listed mistake is caught before `pulumi up`, each by the check that the table names."""

import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from clusterwright.checks.preflight.records import Run
from tests.sampling import sampled

from .planted import ALL, LISTED, Planted
from .projects import STACK, Case, has_stack, layers_of, recorded, run, set_config, write
from .proof import problems

_TYPICAL = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-megagpu-8g"}
#: Every other one of a cloud's; `make stacks-matrix` plants all.
_IN_SETTINGS = sampled((one for one in ALL if not one.file), 2, lambda one: one.cloud)
_IN_PROGRAMS = [one for one in ALL if one.file]


def case_of(planted: Planted, *, changes: bool = True) -> Case:
    """Return the project that a mistake is planted in, with the mistake's own configuration or without."""
    return Case(
        cloud=planted.cloud,
        instance=planted.instance or _TYPICAL[planted.cloud],
        nodes=planted.nodes,
        scheduler=planted.scheduler,
        changes=planted.config if changes else (),
    )


def _skip_if_missing(planted: Planted) -> None:
    if not has_stack(planted.cloud, planted.scheduler):
        pytest.skip(f"{planted.cloud} has no project with {planted.scheduler} yet")


def run_planted(batch: tuple[Planted, ...]) -> Run:
    """Plant mistakes in one project and run it: all of it, what a setting reaches, or the layer that they name."""
    first = batch[0]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        write(case_of(first, changes=bool(first.file)), project)
        before = _configurations(project)
        for one in batch:
            if one.file:
                path = project / one.file
                source = path.read_text()
                assert one.old in source, f"{one.mistake}: nothing to replace in {one.file}"
                path.write_text(source.replace(one.old, one.new, 1))
            set_config(project, dict(one.config))
        after = _configurations(project)
        # What is below the first layer that a setting reaches runs as it does without the setting.
        untouched = () if first.file else tuple(takewhile(lambda layer: after[layer] == before[layer], after))
        if not first.layer and len(untouched) in (0, len(after)):
            return run(project)
        base = recorded(case_of(first, changes=False))
        assert base.error is None, base.error
        layers = [first.layer] if first.layer else list(after)[len(untouched) :]
        changed = run(project, layers=layers, stacks=base.stacks(STACK))
    return Run(layers={**base.layers, **changed.layers})


def _configurations(project: Path) -> dict[str, bytes]:
    """Return the configuration of each layer of a project."""
    return {layer: (project / layer / f"Pulumi.{STACK}.yaml").read_bytes() for layer in layers_of(project)}


@pytest.mark.parametrize("planted", _IN_SETTINGS, ids=lambda one: f"{one.source}-{one.cloud}-{one.mistake}")
def test_wrong_configuration_is_refused_by_the_program(planted: Planted) -> None:
    """The program's own check names the value and what would be right, before anything is registered."""
    _skip_if_missing(planted)
    failed = [record for record in run_planted((planted,)).layers.values() if record.error is not None]
    assert [planted.said for record in failed if planted.said in str(record.error)], failed
    assert not [one for record in failed for one in record.cloud_resources]


def _batches() -> Iterator[list[Planted]]:
    """Put edits that cannot hide each other into one project, since a run of a program is what takes time."""
    together: dict[tuple[str, str, str, str, int], list[Planted]] = {}
    for one in _IN_PROGRAMS:
        if one.alone:
            yield [one]
        else:
            together.setdefault((one.cloud, one.scheduler, one.layer, one.instance, one.nodes), []).append(one)
    yield from together.values()


@cache
def _found(batch: tuple[Planted, ...]) -> tuple[str, ...]:
    """Plant a batch, run the program, and return everything that any check says."""
    return tuple(str(problem) for problem in problems(run_planted(batch), case_of(batch[0])))


_BATCH_OF = {one: tuple(batch) for batch in sampled(_batches(), 2) for one in batch}
_PREFIX = {"schema": "SDK001", "SDK constructor": "RUN001", "engine": "RUN001"}


@pytest.mark.parametrize("planted", _BATCH_OF, ids=lambda one: f"{one.source}-{one.cloud}-{one.mistake}")
def test_wrong_program_is_noticed(planted: Planted) -> None:
    """The check that the table names finds the mistake."""
    _skip_if_missing(planted)
    found = _found(_BATCH_OF[planted])
    prefix = _PREFIX.get(planted.caught, planted.caught)
    assert any(text.startswith(prefix) and planted.said in text for text in found), "\n".join(found)


def test_the_list_is_whole() -> None:
    """All 29 of the list that constructors and mocks were measured with are planted: 7 they catch, 22 they miss."""
    assert len(LISTED) == 29
    assert sum(one.caught == "SDK constructor" for one in LISTED) == 7
    assert len({(one.cloud, one.mistake) for one in ALL}) == len(ALL)
