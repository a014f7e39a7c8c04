"""The gallery: blueprints that are shipped, with the answer, key figures and a picture of what each costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import clusterwright as cw
from clusterwright import assets
from clusterwright.cli.render.sharing import answer
from clusterwright.documentation.markdown import page, prose, table
from clusterwright.finance.finances import finances
from clusterwright.interface.sharing import plan_shared
from clusterwright.outputs.drawing.bar_chart import bar_chart
from clusterwright.outputs.drawing.charts import PALETTE, Bar, Segment
from clusterwright.outputs.report.charts import cost_chart
from clusterwright.outputs.report.memo import figures
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.words import NAME_OF_TARGET, answer_lines, capital

#: Title of each example, by the name of its blueprint.
EXAMPLES: Mapping[str, str] = {
    "train-llama2-7b": "A 7B model on one node",
    "train-llama3-70b": "A 70B model from the beginning",
    "train-mixtral-8x22b": "A mixture of experts on H200, B200 or GB300",
    "train-gemma2-27b-tpu": "A model on TPU",
    "serve-qwen2-72b-mi300x": "A service on MI300X",
    "train-llama3-8b-rack": "One rack on premises",
    "serve-llama3-70b": "A 70B model for 10,000 users",
    "finetune-llama3-70b-lora": "LoRA every week",
    "train-then-serve": "Train, then serve, on one cluster",
}
#: With several workloads, which share a cluster.
_SHARED = ("train-then-serve",)
_DRAWS, _SEED = 500, 1
_MILLION = 1e6
_INTRODUCTION = """
Each blueprint is in the folder `blueprints`; copy the closest and change it. Answers, figures and pictures are what
the program says of them with the prices that it ships. Bands are those of the plan: prices that are assumed have
wide ones.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Example:
    """An example as the page has it: description, answer, rows of figures, and the picture."""

    description: str
    answer: tuple[str, ...]
    figures: tuple[tuple[str, ...], ...]
    picture: str


def examples_page() -> str:
    """Return the page."""
    parts = []
    for name, title in EXAMPLES.items():
        found = _example(name)
        rows = [tuple(map(prose, row)) for row in found.figures]
        parts += [
            f"## {title}",
            prose(found.description),
            f"![Cost over the horizon: {title}](examples/{name}.svg)",
            "\n".join(f"- {prose(capital(line))}." for line in found.answer),
            table(("Figure", "Value", "Band", "Of"), rows),
            f"```\nclusterwright plan blueprints/{name}.yaml\n```",
        ]
    return page("Examples, costed", _INTRODUCTION, *parts)


def pictures() -> dict[str, Callable[[], str]]:
    """Return what makes each picture, by its path below the page's folder."""
    return {f"examples/{name}.svg": partial(_picture, name) for name in EXAMPLES}


def _picture(name: str) -> str:
    return _example(name).picture


@cache
def _example(name: str) -> _Example:
    path = assets.root() / "blueprints" / f"{name}.yaml"
    return _shared(path) if name in _SHARED else _single(path)


def _single(path: Path) -> _Example:
    made = cw.plan(path)
    plan, found = made.plan, finances(made.plan, made.facts.book, draws=_DRAWS, seed=_SEED)
    return _Example(
        description=plan.description,
        answer=answer_lines(plan, USD),
        figures=tuple((figure.title, figure.value, figure.band, figure.of) for figure in figures(plan, found, USD)),
        picture=_on_white(cost_chart(plan, money=USD, horizon=True)),
    )


def _shared(path: Path) -> _Example:
    plan = plan_shared(path).plan
    rows, bars = [], []
    for option in plan.options:
        where = capital(NAME_OF_TARGET[option.target])
        cluster = f"{option.nodes:,} × {option.instance}"
        rows.append((where, USD.text(option.usd), f"separate clusters: {USD.text(option.separate_usd)}", cluster))
        segments = [
            Segment(name=part.name, size=part.usd / _MILLION, text=USD.text(part.usd), colour=colour)
            for part, colour in zip(option.parts, PALETTE, strict=False)
            if part.usd is not None
        ]
        bars.append(Bar(label=where, segments=tuple(segments), text=USD.text(option.usd)))
    title = f"Cost over {plan.horizon_months:.0f} months of one cluster for all workloads"
    return _Example(
        description=plan.description,
        answer=(answer(plan, USD),),
        figures=tuple(rows),
        picture=_on_white(bar_chart(title=title, bars=bars, unit="million USD")),
    )


def _on_white(svg: str) -> str:
    """Return a chart as a file of its own: on white, so that it is read on a dark page too."""
    head, end, rest = svg.partition("</title>")
    return f'{head}{end}<rect width="100%" height="100%" fill="#ffffff"/>{rest}\n'
