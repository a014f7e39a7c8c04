"""The building in a blueprint: quantities with units, bounds that keep slips out, names that are offered again."""

from pathlib import Path

import pytest

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.schema import Blueprint

GOOD = """\
name: small
workload: {kind: train, model: llama-2-7b, tokens: 100e9, sequence_length: 2048, global_batch: 512}
targets: {onprem: {system: dgx-h100}}
"""


def _load(folder: Path, *overrides: str) -> Blueprint:
    path = folder / "small.yaml"
    path.write_text(GOOD)
    return load(path, overrides).blueprint


def test_units_are_read(tmp_path: Path) -> None:
    """Lengths, weights, loads, currents and apparent power are SI inside."""
    site = _load(
        tmp_path,
        "site.hall={floor_load: 300 lb/ft2, door_height: 240 cm, hot_aisle: 900 mm}",
        "site.rack={weight: 0.2 t, load: 3000 lb}",
        "site.feed={voltage: 400 V DC, breaker: 250 A, sources: 2}",
        "site.ups={power: 1.5 MVA, efficiency: 96 %}",
    ).site
    assert site.hall.floor_load == pytest.approx(1464.7, abs=0.1)
    assert (site.hall.door_height, site.hall.hot_aisle) == (2.4, 0.9)
    assert (site.rack.weight, site.rack.load) == (200, pytest.approx(1360.8, abs=0.1))
    assert (site.feed.voltage, site.feed.breaker) == ("400 V DC", 250)
    assert site.ups is not None
    assert (site.ups.power, site.ups.efficiency) == (1.5e6, 0.96)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("site.hall.racks=0", "greater than 0"),
        ("site.hall.racks=-3", "greater than 0"),
        ("site.hall.racks=1.5", "integer"),
        ("site.hall.floor_load=1500", "has no unit; a floor load needs one of kg/m2"),
        ("site.hall.floor_load=1500 kg", "'kg' is a unit of mass"),
        ("site.hall.floor_load=-5 kg/m2", "greater than or equal to 50"),
        ("site.hall.door_height=2.4", "has no unit"),
        ("site.hall.door_height=24 m", "less than or equal to 15"),
        ("site.hall.cold_aisle=10 cm", "greater than or equal to 0.6"),
        ("site.rack.weight=-1 kg", "greater than or equal to 0"),
        ("site.rack.width=700", "has no unit"),
        ("site.feed.breaker=60", "has no unit"),
        ("site.feed.breaker=60 V", "not a unit of current"),
        ("site.feed.voltage=230", "'415 V AC'"),
        ("site.feed.sources=0", "greater than or equal to 1"),
        ("site.ups={efficiency: 95 %}", "site.ups.power"),
        ("site.ups={power: 500 kW}", "'kW' is a unit of power"),
        ("site.ups={power: 500 kVA, efficiency: 120 %}", "less than or equal to 1"),
        ("site.cdu={heat: 0 kW}", "greater than 0"),
        ("site.cooling=water", "'rear-door'"),
        ("site.cooling_limit=-1 kW", "greater than 0"),
        ("site.mean_load=130 %", "less than or equal to 1"),
        ("site.hall.doors=2", "hall.doors"),
        ("targets.onprem.spares={cables: 200 %}", "less than or equal to 1"),
        ("targets.onprem.lead_times={nodes: 20}", "has no unit"),
        ("targets.onprem.lead_times={nodes: -2 weeks}", "greater than or equal to 0"),
    ],
)
def test_slips_are_refused(tmp_path: Path, override: str, said: str) -> None:
    """Negative, absurd, without a unit, in the unit of something else, misspelt: each says what is wrong."""
    with pytest.raises(BlueprintError) as caught:
        _load(tmp_path, override)
    text = "\n".join(f"{'.'.join(map(str, problem.path))}: {problem.message}" for problem in caught.value.problems)
    assert said in text, text
