"""`plan.json`: the keys that readers rely on, the same bytes every time, and strict reading back."""

import csv
import json
from typing import Any

import jsonschema
import pytest

from clusterwright import assets
from clusterwright.errors import InputError
from clusterwright.plan.document import dumps, json_schema, loads

from .examples import plan_of, shipped

OPTION_KEYS = {
    "cluster": {"instance", "accelerator", "nodes", "gpus", "hbm_bytes_per_gpu"},
    "performance": {
        "layout",
        "calendar_days",
        "calendar_days_low",
        "calendar_days_high",
        "mfu",
        "goodput",
        "memory_bytes_per_gpu",
    },
    "money": {"term", "run_usd", "horizon_usd", "capex_usd", "npv_usd", "priced_share", "lines"},
    "deployment": {"region", "capacity", "scheduler", "state"},
    "design": {"constraints", "considered", "storage", "file_system", "facility"},
}
LAYOUT_KEYS = {"tp", "pp", "dp", "cp", "ep", "micro_batch", "recompute"}
MEMORY_KEYS = {"weights", "gradients", "optimizer", "activations", "logits", "communication", "reserve"}


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """Return the shipped blueprint's plan as read from its JSON."""
    plan: dict[str, Any] = json.loads(dumps(shipped()))
    return plan


def test_promised_keys_stand_at_their_level(written: dict[str, Any]) -> None:
    """The plan has a version and options; each option has hardware, performance, dollars, deployment and design."""
    assert written["schema"] == 2
    assert [option["target"] for option in written["options"]] == ["aws", "azure", "gcp", "onprem"]
    for option in written["options"]:
        assert option.keys() == {"target", *OPTION_KEYS}
        for record, keys in OPTION_KEYS.items():
            assert option[record].keys() >= keys
        assert option["performance"]["layout"].keys() >= LAYOUT_KEYS
        assert option["performance"]["memory_bytes_per_gpu"].keys() == MEMORY_KEYS


def test_numbers_of_an_option_fit_together(written: dict[str, Any]) -> None:
    """GPUs are nodes times GPUs per node and the product of the layout; days lie in their band; memory fits."""
    for option in written["options"]:
        cluster, performance, money = option["cluster"], option["performance"], option["money"]
        layout = performance["layout"]
        assert cluster["gpus"] == cluster["nodes"] * cluster["gpus_per_node"]
        assert cluster["gpus"] == layout["tp"] * layout["cp"] * layout["pp"] * layout["dp"]
        assert performance["calendar_days_low"] < performance["calendar_days"] < performance["calendar_days_high"]
        assert sum(performance["memory_bytes_per_gpu"].values()) <= cluster["hbm_bytes_per_gpu"]
        assert 0 < performance["mfu"] < 1
        assert 0 < performance["goodput"] < 1
        assert 0 <= money["priced_share"] <= 1
        assert money["capex_usd"] > 0 if option["target"] == "onprem" else money["capex_usd"] == 0


def test_same_bytes_every_time() -> None:
    """Planning the same blueprint twice gives the same bytes."""
    assert dumps(shipped.__wrapped__()) == dumps(shipped.__wrapped__())


def test_reading_back_gives_the_same_plan() -> None:
    """Writing and reading is lossless, on a plan with every kind of target and on one without prices."""
    finance = (
        "tco.tax_rate=21 %",
        "tco.depreciation=macrs_5",
        "tco.bonus_depreciation=law",
        "tco.delivery=6 months",
        "tco.loan={share: 80 %, rate: 8 %, term: 48 months}",
    )
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
        (("options", 0, "performance", "layout", "extra"), 1),
        (("schema",), "2"),
        (("options", 0, "cluster", "nodes"), "48"),
        (("options", 0, "cluster", "nodes"), 48.5),
        (("options", 0, "money", "run_usd"), "unknown"),
        (("as_of",), None),
        (("options", 0, "money", "lines", 0, "unit_usd"), True),
    ],
)
def test_what_is_not_a_plan_is_refused(path: tuple[str | int, ...], value: Any) -> None:  # noqa: ANN401 - any JSON
    """Unknown keys and wrong types are refused by the reader and by the schema."""
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


@pytest.mark.parametrize(("schema", "by"), [(1, "an older"), (3, "a newer")])
def test_a_plan_of_another_schema_is_refused_with_what_to_do(schema: int, by: str) -> None:
    """Its schema is named, whatever its keys are, and how a new plan is made."""
    for document in (
        {"schema": schema, "workload": {"kind": "train"}},
        json.loads(dumps(shipped())) | {"schema": schema},
    ):
        with pytest.raises(InputError, match=f"a plan of schema {schema}, of {by} version") as caught:
            loads(json.dumps(document))
        assert "clusterwright plan BLUEPRINT --json" in (caught.value.help or "")
        assert "clusterwright build BLUEPRINT -o FOLDER" in (caught.value.help or "")


def test_every_key_that_moved_is_documented() -> None:
    """`docs/reference/plan.md` says of each key of schema 1 which record of schema 2 holds it."""
    rows = [line.split("|") for line in (assets.root() / "docs" / "reference" / "plan.md").read_text().splitlines()]
    told = {(name.strip(), row[2].strip()) for row in rows if len(row) == 4 for name in row[1].split(",")}
    with (assets.root() / "tests" / "records" / "moved.csv").open(newline="") as file:
        moved = {(f"`{row['schema_1']}`", f"`{row['schema_2'].rpartition('.')[0]}`") for row in csv.DictReader(file)}
    assert len(moved) > 100
    assert moved <= told


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
    sizes = [[point.nodes for point in option.performance.front] for option in then.options]
    assert sizes == [[point.nodes for point in option.performance.front] for option in shipped().options]
    old, new = then.option("aws"), shipped().option("aws")
    assert old is not None
    assert new is not None
    assert old.money.lines[0].unit_usd != new.money.lines[0].unit_usd
