"""The goals of memory and time, by leaving groups out of the measurements in shared/, where those are."""

from pathlib import Path

import numpy as np
import pytest

from clusterwright.evidence.finetuning import calibrate
from clusterwright.sizing.finetuning.configuration import QLORA
from clusterwright.sizing.serving.calibration import BOTH_UNSEEN, UNSEEN_HARDWARE

SHARED = next((folder / "shared" / "data" for folder in Path(__file__).parents if (folder / "shared").is_dir()), None)
FILES = ("finetune_runs.csv", "finetune_more.csv")
pytestmark = pytest.mark.skipif(
    SHARED is None or not all((SHARED / name).is_file() for name in FILES), reason="the measurements are not here"
)


def test_left_out_sources_and_accelerators_meet_the_goals() -> None:
    """Memory is off by at most 8 % at the median, QLoRA by at most 15 % in every row, time by at most 15 %."""
    assert SHARED is not None
    problem = calibrate.problem_of(calibrate.read([SHARED / name for name in FILES]))
    by_source = calibrate.left_out(problem, calibrate.GROUPS[BOTH_UNSEEN])
    by_hardware = calibrate.left_out(problem, calibrate.GROUPS[UNSEEN_HARDWARE])
    memory = np.abs(np.expm1(-by_source["memory"]))
    qlora = np.array([row.method == QLORA for row in problem.rows])
    assert np.nanmedian(memory) <= 0.08
    assert np.nanmax(memory[qlora]) <= 0.15
    assert np.nanmedian(np.abs(np.expm1(-by_hardware["time_to_train"]))) <= 0.15
