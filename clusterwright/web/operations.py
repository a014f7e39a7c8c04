"""What the service answers, as functions of facts and the arguments of a request; nothing here knows HTTP.

A blueprint is text (YAML or JSON) or a mapping. It may name no file, since it comes from elsewhere.
"""

import io
import json
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright import assets, interface
from clusterwright.blueprint import load as blueprints
from clusterwright.blueprint.reading.document import document_of
from clusterwright.blueprint.reading.problems import BlueprintError, Problem, dotted
from clusterwright.blueprint.workloads.traffic import with_lengths_in_full
from clusterwright.errors import EXIT_BUG, ClusterwrightError, Finding, InputError, RuleError
from clusterwright.interface.places import placing
from clusterwright.interface.results import PlanResult
from clusterwright.plan.facts import Facts
from clusterwright.plan.text.currency import money_as_asked
from clusterwright.plan.text.words import answer_lines, capital
from clusterwright.web.refusal import BAD_REQUEST, FAULT, UNPROCESSABLE, RefusalError

#: What errors call a blueprint that came with a request.
NAME = "blueprint"
#: Draws behind shares and bands of a comparison: enough for two digits, and an answer within seconds.
MOST_DRAWS, USUAL_DRAWS = 10_000, 1_000
#: The shipped blueprint that each kind of workload starts with.
FIRST = {"train": "train-gpt3-175b", "finetune": "finetune-llama3-8b-qlora", "serve": "serve-llama3-70b"}
_KEPT_PLANS = 8
_ZIP_DAY = (1980, 1, 1, 0, 0, 0)
_PROGRAM, _FILE = 0o755, 0o644


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a request is answered with: bytes, their media type, and the name of a file to keep them in, if any."""

    content: bytes
    media: str = "application/json"
    file_name: str = ""


@dataclass(kw_only=True, slots=True)
class Desk:
    """Facts, and the last plans, which the next question is often about.

    Attributes:
        facts: shipped, with the prices of the store.
        plans: by what the blueprint says and the targets asked for.
    """

    facts: Facts
    plans: OrderedDict[tuple[str, str], PlanResult] = field(default_factory=OrderedDict)

    def planned(self, given: object, on: str = "all") -> PlanResult:
        """Return the plan of a blueprint that came with a request.

        Raises:
            ClusterwrightError: as `interface.plan`.
        """
        loaded = loaded_of(given)
        key = (loaded.fingerprint, on)
        if key not in self.plans:
            self.plans[key] = interface.plan(loaded, on=on, facts=self.facts)
            while len(self.plans) > _KEPT_PLANS:
                self.plans.popitem(last=False)
        self.plans.move_to_end(key)
        return self.plans[key]


def loaded_of(given: object) -> blueprints.LoadedBlueprint:
    """Return a blueprint that came with a request, its form checked.

    Raises:
        InputError, BlueprintError: it is none, or names a file.
    """
    if isinstance(given, Mapping):
        given = document_of(given, name=NAME).text
    if not isinstance(given, str):
        raise InputError(f"{NAME} is missing", help="give it as text (YAML), or as an object")
    return blueprints.load_text(given, name=NAME, files=False)


def plan(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return `plan.json` of a blueprint: the cluster for each target, and what it costs."""
    return _json(desk.planned(asked.get("blueprint"), _text(asked, "on", "all")).to_dict())


def compare(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return every way to have the cluster, as `compare --json` prints it."""
    draws = asked.get("draws", USUAL_DRAWS)
    if not isinstance(draws, int) or isinstance(draws, bool) or not 1 <= draws <= MOST_DRAWS:
        raise InputError(f"draws: {draws!r} is no number of draws", help=f"give 1 to {MOST_DRAWS:,}")
    return _json(desk.planned(asked.get("blueprint")).compare(draws=draws).to_dict())


def build(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return every file of `build` as a zip, whose bytes depend on the blueprint and the facts alone."""
    made = desk.planned(asked.get("blueprint"), _text(asked, "on", "all"))
    files, archive = made.files(), io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{made.plan.name}/{name}", date_time=_ZIP_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (_PROGRAM if files[name].executable else _FILE) << 16
            packed.writestr(entry, files[name].content)
    return Reply(content=archive.getvalue(), media="application/zip", file_name=f"{made.plan.name}.zip")


def prices(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return documented prices of a product or an accelerator, as `prices --json` prints them."""
    found = interface.prices(
        _text(asked, "name", "") or None, as_of=_text(asked, "as_of", "") or None, facts=desk.facts
    )
    return _json(json.loads(json.dumps(found.to_dict(), default=str)))  # days are text


def explain(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return where numbers of one target come from: one that is named, or all of them."""
    made = desk.planned(asked.get("blueprint"))
    on, number = _text(asked, "on", "") or None, _text(asked, "number", "")
    found = (made.explain(number, on),) if number else made.explanations(on)
    return _json({"schema": 1, "numbers": [entry.to_dict() for entry in found]})


def diff(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return what changed from one blueprint's plan to another's, as `diff --json` prints it."""
    found = interface.diff(desk.planned(asked.get("before")), desk.planned(asked.get("blueprint")))
    return _json(found.to_dict())


def answer(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return the answer as the planner's page shows it."""
    from clusterwright.web.answer_page import answer_html  # noqa: PLC0415 - charts are loaded where they are drawn

    made = desk.planned(asked.get("blueprint"))
    figures = {
        option.target: {
            "run_usd": option.money.run_cost_usd,
            "horizon_usd": option.money.horizon_usd,
            "nodes": option.cluster.nodes,
        }
        for option in made.options
    }
    return _json({"html": answer_html(made), "figures": figures, "findings": _findings(made.plan.findings)})


def summary(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return the answer in words and the figures of each option, in USD: what a reader of a plan looks at first."""
    made = desk.planned(asked.get("blueprint"))
    with placing(made.blueprint):
        money = money_as_asked(made.plan)
        words = [capital(line) for line in answer_lines(made.plan, money)]
    options = [
        {
            "target": option.target,
            "instance": option.cluster.instance,
            "nodes": option.cluster.nodes,
            "gpus": option.cluster.gpus,
            "calendar_days": option.performance.calendar_days,
            "run_usd": option.money.run_cost_usd,
            "capex_usd": option.money.capex_usd,
            "horizon_usd": option.money.horizon_usd,
            "npv_usd": option.money.npv_usd,
            "meets_goal": option.performance.meets_goal,
        }
        for option in made.options
    ]
    found, warned = _findings(made.findings), _findings(made.warnings)
    return _json({"schema": 1, "answer": words, "options": options, "findings": found, "warnings": warned})


def example(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return a shipped blueprint of a kind of workload as text, to start from."""
    del desk
    kind, known = _text(asked, "kind", "train"), tuple(FIRST)
    if kind not in known:
        raise InputError(f"there is no kind {kind!r}", help=f"one of {', '.join(known)}")
    path = assets.root() / "blueprints" / f"{FIRST[kind]}.yaml"
    return _json({"schema": 1, "text": path.read_text(encoding="utf-8")})


def read(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return the values of a blueprint's text, without the keys that this version does not know, which are named."""
    del desk
    given = asked.get("blueprint")
    document = document_of(given, name=NAME) if isinstance(given, Mapping) else None
    text = document.text if document else _text(asked, "blueprint", "")
    values, problems = blueprints.readable_values(text, name=NAME)
    unknown = tuple(problem for problem in problems if problem.unknown_key)
    for problem in unknown:
        _without(values, problem.path)
    if isinstance(traffic := values.get("traffic"), Mapping):
        values["traffic"] = with_lengths_in_full(traffic)
    left = [problem.to_dict() for problem in problems if not problem.unknown_key]
    return _json({"values": values, "left_out": [dotted(entry.path) for entry in unknown], "problems": left})


def write(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return values of the planner's form as the text of a blueprint."""
    del desk
    given = asked.get("blueprint")
    if not isinstance(given, Mapping):
        raise InputError(f"{NAME} is no object", help="give the values of a blueprint")
    return _json({"text": document_of(given, name=NAME).text})


def names(desk: Desk, asked: Mapping[str, Any]) -> Reply:
    """Return the names of the catalogue that fields of the form take."""
    del asked
    catalogue = desk.facts.catalogue
    by_cloud: dict[str, list[str]] = {}
    regions: dict[str, set[str]] = {}
    for instance in catalogue.instances.values():
        by_cloud.setdefault(instance.cloud, []).append(instance.id)
        regions.setdefault(instance.cloud, set()).update(instance.regions)
    return _json(
        {
            "workload.model": sorted(catalogue.models),
            "targets.onprem.system": sorted(catalogue.systems),
            **{f"targets.{cloud}.instance": sorted(found) for cloud, found in by_cloud.items()},
            **{f"targets.{cloud}.region": sorted(found) for cloud, found in regions.items()},
        }
    )


OPERATIONS: Mapping[str, Callable[[Desk, Mapping[str, Any]], Reply]] = {
    "plan": plan,
    "compare": compare,
    "build": build,
    "prices": prices,
    "explain": explain,
    "diff": diff,
    "answer": answer,
    "summary": summary,
    "example": example,
    "read": read,
    "write": write,
    "names": names,
}


def done(desk: Desk, operation: str, asked: Mapping[str, Any]) -> Reply:
    """Return the reply of an operation.

    Raises:
        RefusalError: the input is wrong, a rule failed, a fact is missing, or it is a bug of ours.
    """
    try:
        return OPERATIONS[operation](desk, asked)
    except BlueprintError as error:
        raise RefusalError(
            UNPROCESSABLE, error.message, problems=tuple(problem.to_dict() for problem in error.problems)
        ) from None
    except RuleError as error:
        raise RefusalError(UNPROCESSABLE, error.message, problems=tuple(_findings(error.findings))) from None
    except ClusterwrightError as error:
        status = FAULT if error.exit_code == EXIT_BUG else BAD_REQUEST if not error.path else UNPROCESSABLE
        problems = ({"id": None, "path": dotted(error.path), "message": error.message, "help": error.help or ""},)
        raise RefusalError(
            status, error.message, help=error.help or "", problems=problems if error.path else ()
        ) from None
    except Exception as error:  # noqa: BLE001 - last resort: a bug ends in a sentence
        raise RefusalError(
            FAULT,
            f"this is a bug in Clusterwright: {type(error).__name__}: {error}",
            help="plan the blueprint with clusterwright --debug plan, and report what it prints",
        ) from None


def _json(document: Mapping[str, Any]) -> Reply:
    return Reply(content=json.dumps(document, allow_nan=False, separators=(",", ":")).encode())


def _text(asked: Mapping[str, Any], name: str, otherwise: str) -> str:
    value = asked.get(name, otherwise)
    if not isinstance(value, str):
        raise InputError(f"{name} is no text", help=f"write {name} as text")
    return value


def _findings(found: tuple[Finding, ...]) -> list[dict[str, Any]]:
    return [Problem(id=item.id, path=item.path, message=item.message, help=item.help).to_dict() for item in found]


def _without(values: Any, path: tuple[str | int, ...]) -> None:  # noqa: ANN401 - a blueprint holds anything
    for part in path[:-1]:
        values = values[part]
    del values[path[-1]]
