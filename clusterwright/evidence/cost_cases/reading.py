"""From a case file to a checked case: positions, "did you mean", every mistake at once.

Where every value is right by itself, the case may still be wrong: categories that nothing pays, tax unprepared.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from clusterwright.blueprint.load import position
from clusterwright.blueprint.reading.document import Document, parse
from clusterwright.blueprint.reading.problems import BlueprintError, Problem, dotted
from clusterwright.blueprint.reading.problems import Path as KeyPath
from clusterwright.errors import InputError
from clusterwright.evidence.cost_cases.case import Expected, Option, TcoCase
from clusterwright.evidence.cost_cases.fields import Positive
from clusterwright.evidence.cost_cases.sections import BILLED, CapitalCost, GoodputLoss, Support
from clusterwright.input_files import read_text

#: A page of text; reading YAML with positions takes about 14 µs a byte.
_MAX_BYTES = 128_000
_RATE: TypeAdapter[float] = TypeAdapter(Positive)
#: Names of the forms that a value may have, which pydantic puts into its locations.
_FORMS = tuple(form.__name__ for form in (Support, GoodputLoss, Expected, CapitalCost))
#: Forms within forms, such as `function-after[_share(), float]`, and the place of a key.
_NESTED = re.compile(r"(?:[a-z]+-)*[a-z]*\[.*\]$")
#: Errors of pydantic that say: here is a section, or a list.
_SECTIONS = ("dict_type", "model_type", "model_attributes_type")
_FORM_MISSED = (*_SECTIONS, "list_type")
_HELP = "clusterwright docs tco-cases shows a whole case"
#: Running costs that every case may name, whether it has them or not.
_RUNNING = frozenset({*BILLED, "capital", "energy", "facility", "goodput_loss", "other", "support"})
#: Payments at single moments: no share is counted of them, and no rate per year changes them.
_ONCE = frozenset({"purchase", "installation", "spares", "resale", "one_time"})


def read_case(path: Path) -> tuple[TcoCase, Document]:
    """Read a TCO case.

    Raises:
        InputError: the file cannot be read.
        BlueprintError: the text or the values are wrong; holds every problem.
    """
    text = read_text(path, most_bytes=_MAX_BYTES, what="a case, a page of text", advice=_HELP)
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        raise InputError(f"{path} is empty", help=_HELP)
    document = parse(text, name=str(path))
    if not isinstance(document.value, dict):
        raise InputError(f"{path} holds a {type(document.value).__name__}, not a case", help=_HELP)
    _flatten(document, ("expected",), document.value.get("expected"))
    case, problems = _case(document)
    problems = (*document.problems, *problems)
    if problems or case is None:
        raise BlueprintError(name=document.name, text=document.text, problems=problems)
    return case, document


def _case(document: Document) -> tuple[TcoCase | None, tuple[Problem, ...]]:
    """Return the case of a document, if its values are those of one, and what is wrong with it."""
    try:
        case = TcoCase.model_validate(document.value, context={"usd_per": _rates(document.value)})
    except ValidationError as error:
        return None, tuple(_problem(item, document) for item in _telling(error))
    return case, tuple(problem_at(document, place, fault) for place, fault in _faults(case))


def _flatten(document: Document, path: KeyPath, section: Any) -> None:  # noqa: ANN401 - YAML holds anything
    """Give figures that are in sections (`own: {total_usd: 5}`) the names they have in one (`own.total_usd: 5`)."""
    if not isinstance(section, dict):
        return
    for key, value in list(section.items()):
        if isinstance(value, dict) and value and not set(value) & set(Expected.model_fields):
            del section[key]
            _flatten(document, (*path, key), value)
            for inner, kept in value.items():
                name = f"{key}.{inner}"
                section[name] = kept
                document.keys[*path, name] = document.keys[*path, key, inner]
                document.values[*path, name] = document.values[*path, key, inner]


def _rates(value: dict[str, Any]) -> dict[str, float]:
    """Return the rates of currencies that amounts of the case may be in; wrong ones are reported by the schema."""
    given, rates = value.get("usd_per"), {}
    for code, rate in given.items() if isinstance(given, dict) else ():
        with suppress(ValidationError):
            rates[str(code)] = _RATE.validate_python(rate)
    return rates


def problem_at(document: Document, path: KeyPath, error: InputError) -> Problem:
    """Return a mistake found later, placed in the document."""
    return Problem(path=path, message=error.message, help=error.help or _HELP, position=position(document, path))


def problem(document: Document, path: KeyPath, message: str, help_text: str | None = None) -> BlueprintError:
    """Return the error that shows one mistake found later, placed in the document."""
    one = problem_at(document, path, InputError(message, help=help_text))
    return BlueprintError(name=document.name, text=document.text, problems=(one,))


def _faults(case: TcoCase) -> Iterator[tuple[KeyPath, InputError]]:
    """Yield what is wrong with a case: where, and what."""
    running = _running(case)
    for name, option in case.options.items():
        for path, category in _named(option):
            if category not in running:
                yield ("options", name, *path), _unknown(category, running)
        yield from ((("options", name, *path), error) for path, error in _shares_of_shares(option))
        if case.tax_rate and option.purchase and not option.depreciation:
            message = f"tax_rate needs the depreciation of what {name} buys"
            missing = InputError(message, help="for example depreciation: {method: macrs_5} beside the purchase")
            yield ("options", name, "purchase"), missing


def _running(case: TcoCase) -> set[str]:
    """Return the categories of running costs that the case may name."""
    given = {category for option in case.options.values() for category in option.monthly}
    given |= {cost.category for option in case.options.values() for cost in option.costs}
    return (given | _RUNNING) - _ONCE


def _named(option: Option) -> Iterator[tuple[KeyPath, str]]:
    """Yield the categories that an option says something about, with their places in it."""
    for category in option.by_year:
        yield ("by_year", category), category
    for key, given in (("support", option.support), ("goodput_loss", option.goodput_loss)):
        if isinstance(given, Support | GoodputLoss):
            yield from (((key, "of", number), category) for number, category in enumerate(given.of))


def _unknown(category: str, running: set[str]) -> InputError:
    if category in _ONCE:
        return InputError(f"{category} is no running cost", help=f"of running costs: {', '.join(sorted(running))}")
    close = get_close_matches(category, running, n=1)
    help_text = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(sorted(running))}"
    return InputError(f"there is no running cost of the category {category!r}", help=help_text)


def _shares_of_shares(option: Option) -> Iterator[tuple[KeyPath, InputError]]:
    """Yield shares that are meant of another share, which is not charged of it."""
    shares = {"support": option.support, "goodput_loss": option.goodput_loss}
    for key, given in shares.items():
        if isinstance(given, Support | GoodputLoss):
            for number, category in enumerate(given.of):
                if shares.get(category) is not None:
                    message = f"{category} is a share itself: {key} cannot be a share of it"
                    yield (key, "of", number), InputError(message, help="raise the fraction by as much instead")


def _telling(error: ValidationError) -> list[dict[str, Any]]:
    """Return the errors without repetitions: of the forms that a value may have, the one that went deepest speaks.

    Where none went deeper, the form that is a number or a share speaks before the one that is a section.
    """
    found: list[dict[str, Any]] = [dict(item) for item in error.errors(include_url=False)]
    paths = [_path(item) for item in found]
    kept: dict[tuple[KeyPath, bool], dict[str, Any]] = {}
    for item, path in zip(found, paths, strict=True):
        deeper = any(len(other) > len(path) and other[: len(path)] == path for other in paths)
        where = (path, item["type"] == "extra_forbidden")
        spoken = where in kept and (item["type"] in _FORM_MISSED or kept[where]["type"] not in _FORM_MISSED)
        if (not deeper or item["type"] == "value_error") and not spoken:
            kept[where] = item
    return list(kept.values())


def _path(error: Mapping[str, Any]) -> KeyPath:
    """Return the place of one of pydantic's errors without the names of the forms that it tried."""
    location = error["loc"]
    # A key that is not known is last, and is the user's own, whatever it looks like.
    own = location[-1:] if error["type"] == "extra_forbidden" else ()
    parts = location[: len(location) - len(own)]
    kept = [part for part in parts if part not in _FORMS and not (isinstance(part, str) and _NESTED.match(part))]
    return (*(kept[:-1] if not own and kept[-1:] == ["float"] else kept), *own)


def _problem(error: dict[str, Any], document: Document) -> Problem:
    path = _path(error)
    kind, context, given = error["type"], error.get("ctx", {}), error["input"]
    shown = dotted(path)
    seen = "" if isinstance(given, dict | list) or given is None else f" (found {given!r})"
    advice = context.get("help")
    text = str(error["msg"]).removeprefix("Value error, ")
    if kind == "extra_forbidden":
        message, advice = f"there is no key {path[-1]!r} here", _did_you_mean(path)
    elif kind == "missing":
        message, advice = f"{shown} is missing", _description(path)
    elif kind in _SECTIONS:
        names = f"names, and what belongs to each: {_description(path)}"
        message = f"{shown} is a section of keys{seen or ', not a list'}"
        advice = names if kind == "dict_type" else f"known here: {', '.join(_known_below(path))}"
    elif kind in ("value_error", "quantity"):
        message = f"{shown}: {text}" if path else text
    else:
        message = f"{shown}: {text[0].lower()}{text[1:]}{seen}"
        if kind == "less_than_equal" and context["le"] == 1 and isinstance(given, int | float):
            advice = f"a share is written as {given:g} % or {given / 100:g}"
    at_key = kind == "extra_forbidden" or error["loc"][-1:] == ("[key]",)
    place = document.keys.get(path) if at_key else None
    return Problem(path=path, message=message, help=advice or _HELP, position=place or position(document, path))


def _did_you_mean(path: KeyPath) -> str:
    if path[-1] == "<<":
        return "merge keys are not read; name a whole section with an anchor, or write it out"
    known = _known_below(path[:-1])
    close = get_close_matches(str(path[-1]), known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"


def _known_below(path: KeyPath) -> list[str]:
    """Return the keys that a section may have; none where they are names to choose."""
    models: list[Any] = [TcoCase]
    for part in path:
        models = [step for model in models for step in _step(model, part)]
    return sorted({name for model in models for name in model.model_fields})


def _description(path: KeyPath) -> str | None:
    """Return what the schema says about a key that is not given."""
    models: list[Any] = [TcoCase]
    for part in path[:-1]:
        models = [step for model in models for step in _step(model, part)]
    found = (model.model_fields[path[-1]].description for model in models if path[-1] in model.model_fields)
    return next(found, None)


def _step(model: Any, part: str | int) -> list[Any]:  # noqa: ANN401 - typing forms
    """Return the sections that may be at a key; a key of a mapping or a place in a list leads to the same ones."""
    field = model.model_fields.get(str(part))
    return [model] if field is None else _forms(field.annotation)


def _forms(annotation: Any) -> list[Any]:  # noqa: ANN401 - typing forms
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [form for argument in get_args(annotation) for form in _forms(argument)]
