"""Every marked formula is its equation: calculated again from the printed text it gives what the function gives."""

import importlib
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clusterwright
from clusterwright.formulas import Formula, Term, formula
from clusterwright.sizing.model.experts import at_least_launched
from clusterwright.sizing.reliability.goodput import run_days
from clusterwright.sizing.training.points import model_flop_utilisation

_FULL = ".17g"


def _formulas() -> dict[str, Formula[..., object]]:
    """Return every formula of the package by module and name."""
    found: dict[str, Formula[..., object]] = {}
    root = Path(clusterwright.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "\n@formula(" not in path.read_text(encoding="utf-8"):
            continue
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for entry in vars(importlib.import_module(module)).values():
            if isinstance(entry, Formula):
                found[f"{entry.function.__module__}.{entry.name}"] = entry
    return found


FORMULAS = _formulas()


def _calculated(text: str) -> float:
    """Return what an equation comes to."""
    code = text.replace("×", "*").replace("^", "**").replace("√(", "sqrt(")
    code = code.replace("⌈", "ceil(").replace("⌊", "floor(").replace("⌉", ")").replace("⌋", ")")
    code = re.sub(r"(?<=\d),(?=\d{3}\b)", "", code)
    names = {"sqrt": math.sqrt, "exp": math.exp, "max": max, "min": min, "ln": math.log, "__builtins__": {}}
    names |= {"ceil": math.ceil, "floor": math.floor}
    return float(eval(code, names))  # noqa: S307 - equations of our own


def test_there_are_formulas() -> None:
    """The walk over the package finds those that a training run and a service are explained with."""
    assert {name.rpartition(".")[2] for name in FORMULAS} >= {
        "at_least_launched",
        "capped_share",
        "cost_of_run",
        "flops_per_token",
        "late_s",
        "layer_s",
        "model_flop_utilisation",
        "priced_share",
        "productive_fraction",
        "replicas_needed",
        "requests_of_users",
        "requests_that_fit",
        "run_days",
        "step_compute_s",
        "step_s",
        "usd_per_gpu_hour",
        "usd_per_million_tokens",
    }


@pytest.mark.parametrize("name", sorted(FORMULAS))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_equation_and_function_agree(name: str, data: st.DataObject) -> None:
    """For any inputs the equation with all digits filled in comes to the result of the function."""
    entry = FORMULAS[name]
    values = {argument: data.draw(st.floats(0.1, 50.0), label=argument) for argument in entry.terms}
    inputs = {argument: value / entry.terms[argument].scale for argument, value in values.items()}
    recorded = entry.record(**inputs)
    filled = entry.equation.format_map({argument: format(value, _FULL) for argument, value in values.items()})
    found = _calculated(filled)
    if entry.name in _IN_MILLISECONDS:
        found /= 1e3
    assert found == pytest.approx(recorded.result, rel=1e-9, abs=1e-12)
    assert set(recorded.inputs) == set(entry.terms)


#: Formulas with all terms in ms, of which the result is written in ms too.
_IN_MILLISECONDS = {"layer_s", "at_least_launched", "step_s"}


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_formulas_name_words_and_a_source(name: str) -> None:
    """Each has a sentence, a source, and words for every argument, which the rule is made of."""
    entry = FORMULAS[name]
    assert entry.__doc__
    assert entry.source
    rule = entry.record(**dict.fromkeys(entry.terms, 1.0)).rule
    assert all(term.words in rule for term in entry.terms.values())
    assert "{" not in rule


def test_recording_does_not_change_a_call() -> None:
    """Columns go through a marked function, and a recorded call returns what the call returns."""
    steps = np.array([10.0, 20.0])
    days = run_days(steps=100.0, step_s=steps, productive=0.5, startup_s=0.0)
    assert np.asarray(days).tolist() == pytest.approx([2000 / 86400, 4000 / 86400])
    assert run_days.record(steps=100.0, step_s=10.0, productive=0.5, startup_s=0.0).result == np.asarray(days)[0]
    assert at_least_launched.record(time_s=3.0, launch_s=4.0).result == pytest.approx(5.0)


def test_palm_540b() -> None:
    """PaLM 540B: 238,300 tokens/s on 6,144 TPU v4 of 275 TFLOP/s are an MFU of 46.2 % (arXiv 2204.02311, table 3)."""
    layers, heads, width, sequence = 118, 48, 256, 2048
    recorded = model_flop_utilisation.record(
        tokens_per_step=238.3e3,
        step_s=1.0,
        gpus=6144,
        flop_per_token=6 * 540.35e9 + 12 * layers * heads * width * sequence,
        peak_flop_per_s=275e12,
    )
    assert recorded.result == pytest.approx(0.462, abs=0.001)


def test_an_equation_without_one_of_its_arguments_is_refused() -> None:
    """A term that the equation does not hold, and a name in braces without a term, are mistakes of the program."""

    def half(*, whole: float, other: float = 0.0) -> float:
        return whole / 2 + other

    with pytest.raises(ValueError, match="without other"):
        formula("{whole} / 2", source="", whole=Term("whole"), other=Term("other"))(half)
    with pytest.raises(KeyError):
        formula("{whole} / {part}", source="", whole=Term("whole"))(half)
