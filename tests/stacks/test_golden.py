"""What each stack asks for, written out: a change of a stack shows as a change of these pages, which a person reads."""

import os
from pathlib import Path

import pytest

from .golden import page
from .projects import INSTANCES, SCHEDULERS, has_stack, run, set_config, write_example

_FOLDER = Path(__file__).parent / "golden"


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("cloud", INSTANCES)
def test_the_example_asks_for_what_the_page_says(cloud: str, scheduler: str, tmp_path: Path) -> None:
    """Each layer's record equals its page; with `CLUSTERWRIGHT_WRITE_GOLDEN=1` it becomes the page, to be read."""
    if not has_stack(cloud, scheduler):
        pytest.skip(f"{cloud} has no project with {scheduler} yet")
    write_example(cloud, scheduler, tmp_path)
    if cloud == "azure":
        # Without it the budget starts in the month of the first deployment.
        set_config(tmp_path, {"budgetStartMonth": "2026-11"})
    for layer, record in run(tmp_path).layers.items():
        assert record.error is None, record.error
        # The foundation knows nothing of the scheduler, so both have one page.
        of = "slurm" if layer == "foundation" else scheduler
        path = _FOLDER / (f"{cloud}-{of}-{layer}.txt" if layer else f"{cloud}.txt")
        if of != scheduler and not path.exists():
            continue
        found = page(record)
        if os.environ.get("CLUSTERWRIGHT_WRITE_GOLDEN") == "1":
            path.parent.mkdir(exist_ok=True)
            path.write_text(found)
        assert found == path.read_text()
