"""`plan.json`: the keys that readers rely on, the same bytes every time, and strict reading back."""

import json
from typing import Any

import jsonschema
import pytest

from clusterwright import assets
from clusterwright.errors import InputError
from clusterwright.plan.document import dumps, json_schema, loads

from .examples import plan_of, shipped

OPTION_KEYS = {
    "target", "instance", "nodes", "gpus", "layout", "calendar_days", "calendar_days_low", "calendar_days_high", "mfu",
    "goodput", "memory_bytes_per_gpu", "run_usd", "horizon_usd", "capex_usd", "priced_share",
}  # fmt: skip
LAYOUT_KEYS = {"tp", "pp", "dp", "cp", "ep", "micro_batch", "recompute"}
MEMORY_KEYS = {"weights", "gradients", "optimizer", "activations", "logits", "communication", "reserve"}


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """Return the shipped blueprint's plan as read from its JSON."""
    plan: dict[str, Any] = json.loads(dumps(shipped()))
    return plan


def test_promised_keys_stand_at_their_level(written: dict[str, Any]) -> None:
    """The plan has a version and options; each option has size, layout, days, memory by term, and dollars."""
    assert written["schema"] == 1
    assert [option["target"] for option in written["options"]] == ["aws", "azure", "gcp", "onprem"]
    for option in written["options"]:
        assert option.keys() >= OPTION_KEYS
        assert option["layout"].keys() >= LAYOUT_KEYS
        assert option["memory_bytes_per_gpu"].keys() == MEMORY_KEYS


def test_numbers_of_an_option_fit_together(written: dict[str, Any]) -> None:
    """GPUs are nodes times GPUs per node and the product of the layout; days lie in their band; memory fits."""
    for option in written["options"]:
        layout = option["layout"]
        assert option["gpus"] == option["nodes"] * option["gpus_per_node"]
        assert option["gpus"] == layout["tp"] * layout["cp"] * layout["pp"] * layout["dp"]
        assert option["calendar_days_low"] < option["calendar_days"] < option["calendar_days_high"]
        assert sum(option["memory_bytes_per_gpu"].values()) <= option["hbm_bytes_per_gpu"]
        assert 0 < option["mfu"] < 1
        assert 0 < option["goodput"] < 1
        assert 0 <= option["priced_share"] <= 1
        assert option["capex_usd"] > 0 if option["target"] == "onprem" else option["capex_usd"] == 0


def test_same_bytes_every_time() -> None:
    """Planning the same blueprint twice gives the same bytes."""
    assert dumps(shipped.__wrapped__()) == dumps(shipped.__wrapped__())


def test_reading_back_gives_the_same_plan() -> None:
    """Writing and reading is lossless, on a plan with every kind of target and on one without prices."""
    finance = (
        "tco.tax_rate=21 %", "tco.depreciation=macrs_5", "tco.bonus_depreciation=law", "tco.delivery=6 months",
        "tco.loan={share: 80 %, rate: 8 %, term: 48 months}",
    )  # fmt: skip
    for plan in (shipped(), shipped("economics.as_of=2015-01-01"), shipped(*finance)):
        assert loads(dumps(plan)) == plan


def test_plan_is_valid_against_its_schema(written: dict[str, Any]) -> None:
    """The JSON Schema that is printed accepts what is written, with a section of finance too."""
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    financed = json.loads(dumps(shipped("tco.delivery=6 months", "tco.lease={rate: 8 %, residual: 30 %}")))
    for plan in (written, financed):
        jsonschema.validate(plan, schema, cls=jsonschema.Draft202012Validator)


def test_shipped_schema_is_current() -> None:
    """`docs/plan.schema.json` is what `clusterwright schema plan` prints."""
    shipped_schema = (assets.root() / "docs" / "plan.schema.json").read_text()
    assert shipped_schema == json.dumps(json_schema(), indent=2) + "\n"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("extra",), 1),
        (("options", 0, "extra"), 1),
        (("options", 0, "layout", "extra"), 1),
        (("schema",), 2),
        (("options", 0, "nodes"), "48"),
        (("options", 0, "nodes"), 48.5),
        (("options", 0, "run_usd"), "unknown"),
        (("as_of",), None),
        (("options", 0, "lines", 0, "unit_usd"), True),
    ],
)
def test_what_is_not_a_plan_is_refused(path: tuple[str | int, ...], value: Any) -> None:  # noqa: ANN401 - any JSON
    """Unknown keys, another version and wrong types are refused by the reader and by the schema."""
    document = json.loads(dumps(shipped()))
    place = document
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(InputError, match="not a plan that this version can read"):
        loads(json.dumps(document))
    if not isinstance(value, bool):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, json_schema(), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("key", ["schema", "options", "findings"])
def test_missing_key_is_refused(key: str) -> None:
    """A plan without one of its keys is not read."""
    document = json.loads(dumps(shipped()))
    del document[key]
    with pytest.raises(InputError, match=key):
        loads(json.dumps(document))


def test_no_number_is_not_a_number() -> None:
    """NaN and infinity have no JSON form and never reach the file."""
    assert "NaN" not in dumps(shipped())
    assert "Infinity" not in dumps(shipped())


def test_another_day_leads_to_other_prices_only() -> None:
    """A fixed day changes prices, not the sizes that are looked at."""
    then = plan_of(assets.root() / "blueprints" / "train-gpt3-175b.yaml", "economics.as_of=2025-01-15")
    assert then.as_of == "2025-01-15"
    sizes = [[point.nodes for point in option.front] for option in then.options]
    assert sizes == [[point.nodes for point in option.front] for option in shipped().options]
    old, new = then.option("aws"), shipped().option("aws")
    assert old is not None
    assert new is not None
    assert old.lines[0].unit_usd != new.lines[0].unit_usd
