"""The page of numbers: what `clusterwright explain BLUEPRINT NUMBER` traces, with the equation of each."""

import re
from collections.abc import Iterator

import clusterwright as cw
from clusterwright import assets
from clusterwright.documentation.markdown import code, page, prose, table

_INTRODUCTION = """
`clusterwright explain BLUEPRINT NUMBER --on TARGET` prints where a number comes from: its equation, the same with the
values filled in, each input with its source, and the documents behind it. Without a number it lists what this
blueprint has. Keys of `plan.json` work as names too, such as `run_usd_low`.
"""
#: A blueprint of each kind of workload, and what the kind is called.
_EXAMPLES = (
    ("train-gpt3-175b", "Training", ("targets.azure", "targets.gcp")),
    ("serve-llama3-70b", "Serving", ("targets.azure", "targets.gcp")),
    ("finetune-llama3-8b-qlora", "Fine-tuning", ()),
)
_PRICE = "price of "
_NUMBER = re.compile(r"\b\d[\d,]*(?:\.\d+)?\b")


def numbers_page() -> str:
    """Return the page."""
    parts: list[str] = []
    for name, title, without in _EXAMPLES:
        rows = tuple(_rows(name, without))
        parts += [f"## {title}", table(("Number", "What it is", "Equation"), rows)]
    closing = (
        "Every line of a bill can be explained too, by its price key: `clusterwright explain BLUEPRINT "
        "aws/p5.48xlarge`. It shows quantity × price, with the document and the day of the price."
    )
    return page("Explained numbers", _INTRODUCTION, *parts, "## Prices", closing)


def _rows(name: str, without: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    blueprint = assets.root() / "blueprints" / f"{name}.yaml"
    result = cw.plan(blueprint, overrides=dict.fromkeys(without))
    seen: set[str] = set()
    for option in result.options:
        for entry in result.explanations(option.target):
            number = entry.number.partition("/")[0]
            if number in seen or entry.title.startswith(_PRICE):
                continue
            seen.add(number)
            yield code(number), prose(_general(entry.title)), prose(_NUMBER.sub(_constant, entry.equation[0]))


def _general(title: str) -> str:
    """Return a title without the numbers and targets of the example."""
    return _NUMBER.sub("N", title).replace("onprem", "owning").replace("than aws", "than renting")


def _constant(found: re.Match[str]) -> str:
    """Return a number of an equation; a constant of units stays."""
    return found[0]
