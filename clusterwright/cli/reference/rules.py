"""`clusterwright explain CODE`: what a rule refuses or warns of, why, what to do, and an example."""

import json
from dataclasses import asdict
from pathlib import Path

from clusterwright.catalog.rules import ID, Rule, rules_named
from clusterwright.cli.render.text_table import prose
from clusterwright.errors import EXIT_FINE

#: What a finding of each subject speaks of.
_SPEAKS_OF = {
    "blueprint": "a blueprint and its plan",
    "preflight": "a generated project (clusterwright preflight)",
    "project": "a generated project (its own cluster.sh)",
    "proof": "written documents (clusterwright prove)",
}
_HANGING = 9


def code_in(first: Path, second: str | None) -> str | None:
    """Return the rule id among the arguments of `explain`, or None where they name a blueprint and a number.

    A file with the name of an id remains a blueprint.
    """
    if second is not None and ID.fullmatch(second.upper()):
        return second.upper()
    name = str(first).upper()
    return name if second is None and ID.fullmatch(name) and not first.exists() else None


def explain(code: str, *, as_json: bool) -> int:
    """Print the explanation of a rule; return the exit code.

    Raises:
        InputError: there is no such rule.
    """
    named = rules_named(code)
    if as_json:
        document = {"schema": 1, "rules": [{**asdict(rule), "place": rule.place} for rule in named]}
        print(json.dumps(document, indent=1))
    else:
        print("\n\n".join(_text(rule) for rule in named))
    return EXIT_FINE


def _text(rule: Rule) -> str:
    rows = (
        ("What", rule.what),
        ("Why", rule.why),
        ("Fix", rule.fix),
        ("Example", rule.example),
        ("More", f"clusterwright docs {Path(rule.page).stem}"),
    )
    lines = prose(f"{rule.id}, {rule.severity}, of {_SPEAKS_OF[rule.about]}")
    return "\n".join((*lines, *(line for name, text in rows for line in prose(f"{name:<7}  {text}", hanging=_HANGING))))
