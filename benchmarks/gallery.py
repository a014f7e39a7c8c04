"""Published runs, planned: `python benchmarks/gallery.py` writes docs/evidence/gallery.md and docs/gallery.svg.

Each blueprint of `blueprints/gallery/` fixes the nodes of such a run, its tokens, batch, precision and software, and
leaves the layout open. `published.csv` beside them has what was published, with its source. What is predicted is
compared with it as it was counted: `steps` is the time of the steps alone, `all` the hours that the whole run took,
with what was lost to failures.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import clusterwright as cw
from clusterwright.outputs.drawing.charts import (
    LOSS,
    PALETTE,
    WIDTH,
    Axis,
    across,
    labelled,
    line,
    nice_ticks,
    opened,
    text,
    text_width,
)
from clusterwright.plan.text.training import layout_text
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.units import SECONDS_PER_DAY, SECONDS_PER_HOUR

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "blueprints" / "gallery"
PAGE = ROOT / "docs" / "evidence" / "gallery.md"
PICTURE = ROOT / "docs" / "gallery.svg"
#: Places on the picture: where the rows begin, their height, the room below them and at the sides.
_TOP, _ROW, _BELOW, _SIDE = 70.0, 38.0, 56.0, 16.0
#: Halves of the marks on it: a band's thickness, its median's length, the published days' diamond.
_THICK, _MEDIAN, _DIAMOND = 7.0, 10.0, 6.0

#: Units of the figures as text.
_UNITS = {"days": "days", "gpu_hours": "GPU hours", "s_per_step": "s a step", "tokens_per_s": "tokens/s"}
#: The layout of a run is known to have fitted: its memory is not to be sure of once more.
_RAN = ("goals.memory_confidence=0.5",)
_INTRODUCTION = """# Published runs, planned

Written by `python benchmarks/gallery.py`; do not edit by hand.

Each blueprint of [blueprints/gallery](../../blueprints/gallery) has the tokens, batch, precision and software of a run
that its publisher described, on the nodes that it had. *Planned* leaves the layout open, as for a run that was never
made: what is fastest and fits into memory with 95 % confidence, by today's means, so that runs of 2021 and 2022 are
planned faster than they were. *As run* holds the published layout and recomputation. *Steps* compares the time of the
steps alone, *all* the whole run with what failures cost. Bands promise 80 %.

```
clusterwright plan blueprints/gallery/bloom-176b.yaml
clusterwright plan blueprints/gallery/bloom-176b.yaml --set workload.parallelism.pipeline=12
```
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """A plan of a published run.

    Attributes:
        name: of the model; hardware: number and kind of accelerators; layout: as text.
        published_days: as the publisher's figure gives them; days, low, high: predicted, P50, P10 and P90.
    """

    name: str
    hardware: str
    published_days: float
    days: float
    low: float
    high: float
    layout: str

    @property
    def in_band(self) -> bool:
        """Whether the published days are inside the band of 80 %."""
        return self.low <= self.published_days <= self.high


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A published run: its row of `published.csv`, and its plans with the layout left open and as it was run."""

    row: Mapping[str, str]
    planned: Prediction
    as_run: Prediction | None


def published_days(kind: str, figure: float, *, tokens: float, batch_tokens: float, gpus: int) -> float:
    """Return the days that a published figure gives.

    Args:
        kind: of the figure, a key of the units.
        figure: as published; `gpu_hours` are of all GPUs.
        tokens: of the run.
        batch_tokens: of a step.
        gpus: of the cluster.
    """
    seconds = {
        "days": figure * SECONDS_PER_DAY,
        "gpu_hours": figure * SECONDS_PER_HOUR / gpus,
        "s_per_step": figure * tokens / batch_tokens,
        "tokens_per_s": tokens / figure,
    }
    return seconds[kind] / SECONDS_PER_DAY


def published() -> list[dict[str, str]]:
    """Return the rows of `published.csv`."""
    with (FOLDER / "published.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(row: Mapping[str, str]) -> Run:
    """Return a published run with its plans; one whose layout is not published has none as it was run."""
    held = [f"workload.parallelism.{each}" for each in row["held"].split()]
    return Run(row=row, planned=_predicted(row, ()), as_run=_predicted(row, (*held, *_RAN)) if held else None)


def _predicted(row: Mapping[str, str], overrides: Sequence[str]) -> Prediction:
    """Return a plan's days; those of steps are calendar days times goodput, without failures and restarts."""
    plan = cw.plan(FOLDER / f"{row['id']}.yaml", overrides=list(overrides)).plan
    option = plan.options[0]
    if not isinstance(plan, TrainingPlan) or not isinstance(option, TrainingOption):
        raise TypeError(f"{row['id']} is no training run")
    work = plan.workload
    share = option.performance.goodput if row["counted"] == "steps" else 1.0
    return Prediction(
        name=work.model_name,
        hardware=f"{option.cluster.gpus:,} {option.cluster.accelerator_name}",
        published_days=published_days(
            row["figure"],
            float(row["published"]),
            tokens=work.tokens,
            batch_tokens=work.global_batch_sequences * work.sequence_length,
            gpus=option.cluster.gpus,
        ),
        days=option.performance.calendar_days * share,
        low=option.performance.calendar_days_low * share,
        high=option.performance.calendar_days_high * share,
        layout=layout_text(option.performance.layout),
    )


def page(runs: Sequence[Run]) -> str:
    """Return the page in Markdown."""
    return "\n".join(
        [
            _INTRODUCTION,
            _count("Planned", [(each.row, each.planned) for each in runs]),
            _count("As run", [(each.row, each.as_run) for each in runs if each.as_run is not None]),
            "",
            "| Run | Hardware | Counted | Published days | Planned days (P10 to P90) | | As run | |",
            "|---|---|---|---:|---:|---|---:|---|",
            *(
                f"| [{each.planned.name}](../../blueprints/gallery/{each.row['id']}.yaml) | {each.planned.hardware} | "
                f"{each.row['counted']} | {each.planned.published_days:.1f} | {_days(each.planned)} | "
                f"{_days(each.as_run)} |"
                for each in runs
            ),
            "",
            "## Layouts",
            "",
            "| Run | Used | Planned | As run |",
            "|---|---|---|---|",
            *(
                f"| {each.planned.name} | {each.row['layout'] or 'not published'} | {each.planned.layout} | "
                f"{'' if each.as_run is None else each.as_run.layout} |"
                for each in runs
            ),
            "",
            "## What was published",
            "",
            "| Run | Figure, source | Remarks | Calibrated with |",
            "|---|---|---|---|",
            *(_source(each) for each in runs),
            "",
        ]
    )


def picture(runs: Sequence[Run]) -> str:
    """Return an SVG of the published days on the band of each run: as it was run where its layout is published."""
    shown = [each.as_run or each.planned for each in runs]
    ticks = nice_ticks(
        min(min(one.low, one.published_days) for one in shown), max(max(one.high, one.published_days) for one in shown)
    )
    axis = Axis(title="days", ticks=labelled(ticks), low=ticks[0], high=ticks[-1])
    left = _SIDE + 14 + max(max(text_width(one.name, bold=True), text_width(one.hardware, size=11)) for one in shown)
    width = WIDTH - left - 2 * _SIDE
    height = _TOP + _ROW * len(shown)
    title = "Published training runs: the days that they took, and the days that Clusterwright counts"
    marks = [
        opened(WIDTH, height + _BELOW, title),
        f'<rect width="{WIDTH:g}" height="{height + _BELOW:g}" rx="8" fill="#fff"/>',
        text(_SIDE, 28, title, size=16, bold=True),
        *_key(50.0),
        *across(axis, left=left, width=width, top=_TOP, height=height - _TOP),
    ]
    for place, one in enumerate(shown):
        marks += _row(one, [left + axis.share(days) * width for days in _days_of(one)], _TOP + _ROW * (place + 0.5))
    return "".join([*marks, "</svg>\n"])


def _days_of(one: Prediction) -> tuple[float, float, float, float]:
    return one.low, one.days, one.high, one.published_days


def _row(one: Prediction, places: Sequence[float], middle: float) -> list[str]:
    """Return the marks of a run: its names, its band with the median, and what was published."""
    low, days, high, found = places
    tip = (
        f"{one.name}: published {one.published_days:.1f} days, counted {one.days:.1f} ({one.low:.1f} to {one.high:.1f})"
    )
    return [
        text(_SIDE, middle - 2, one.name, bold=True),
        text(_SIDE, middle + 13, one.hardware, size=11),
        _band(low, high, middle, tip),
        line(days, middle - _MEDIAN, days, middle + _MEDIAN, stroke=PALETTE[0], width=2.4),
        _diamond(found, middle, tip),
    ]


def _band(low: float, high: float, middle: float, tip: str) -> str:
    return (
        f'<rect x="{low:.1f}" y="{middle - _THICK:.1f}" width="{high - low:.1f}" height="{2 * _THICK:g}" rx="3" '
        f'fill="{PALETTE[0]}" opacity="0.3"><title>{escape(tip)}</title></rect>'
    )


def _diamond(at: float, middle: float, tip: str) -> str:
    step = f"{_DIAMOND:g}"
    return (
        f'<path d="M{at:.1f} {middle - _DIAMOND:.1f}l{step} {step}l-{step} {step}l-{step} -{step}z" fill="{LOSS}" '
        f'stroke="#fff"><title>{escape(tip)}</title></path>'
    )


def _key(middle: float) -> list[str]:
    """Return what the marks mean."""
    words = ("published", "counted: P10 to P90, and the median")
    second = _SIDE + 16 + text_width(words[0]) + 24
    return [
        _diamond(_SIDE + _DIAMOND, middle, words[0]),
        text(_SIDE + 18, middle + 4, words[0]),
        _band(second, second + 36, middle, words[1]),
        line(second + 16, middle - _MEDIAN, second + 16, middle + _MEDIAN, stroke=PALETTE[0], width=2.4),
        text(second + 44, middle + 4, words[1]),
    ]


def _count(title: str, found: Sequence[tuple[Mapping[str, str], Prediction]]) -> str:
    """Return how many are in their band, and how many of those of which the calibration has seen nothing."""
    unseen = [one for row, one in found if not row["known"]]
    return (
        f"- {title}: {sum(one.in_band for _, one in found)} of {len(found)} are in their band; of the {len(unseen)} of "
        f"which the calibration has seen nothing, {sum(one.in_band for one in unseen)}."
    )


def _days(one: Prediction | None) -> str:
    """Return two cells: days with their band, and how far they are off."""
    if one is None:
        return " | "
    off = f"{one.days / one.published_days - 1:+.0%}".replace("%", " %")
    band = f"{one.days:.1f} ({one.low:.1f} to {one.high:.1f})"
    return f"{band} | {off if one.in_band else f'**{off}**, not in band'}"


def _source(each: Run) -> str:
    row = each.row
    figure = f"{float(row['published']):,.10g} {_UNITS[row['figure']]}"
    return f"| {each.planned.name} | {figure}: {row['source']} | {row['note']} | {row['known'] or 'nothing'} |"


def main() -> None:
    """Write the page and the picture."""
    runs = [run(row) for row in published()]
    PAGE.write_text(page(runs), encoding="utf-8")
    PICTURE.write_text(picture(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
