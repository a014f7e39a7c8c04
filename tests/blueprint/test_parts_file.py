"""Own parts beside a blueprint: they replace the catalogue's facts, or are refused cell by cell."""

from pathlib import Path

import pytest

from clusterwright.blueprint.reading.parts_file import read_parts
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.catalog.load import load
from clusterwright.catalog.own_facts import with_facts
from clusterwright.errors import InputError

HEADER = "part,like,name,power_max_w,height_u,weight_kg,price_usd,priced_on,note\n"


def written(folder: Path, text: str) -> Path:
    """Return a file of parts."""
    path = folder / "parts.csv"
    path.write_text(text)
    return path


def test_facts_and_prices(tmp_path: Path) -> None:
    """Known parts change, a new one equals another but for its own facts; what the catalogue has is named beside it."""
    own = read_parts(
        written(
            tmp_path,
            HEADER
            + "our-hgx,dgx-h100,Our HGX,9800,6,,280000,2026-11-02,contract\n"
            + "qm9700,,,1600,1,,,,measured\n"
            + "cat6-copper,,,,,,4.5,2026-11-02,\n",
        ),
        load(),
    )
    catalogue = with_facts(load(), own.facts)
    ours, dgx = catalogue.systems["our-hgx"], load().systems["dgx-h100"]
    assert (ours.id, ours.name, ours.power_max_w, ours.height_u) == ("our-hgx", "Our HGX", 9800, 6)
    assert (ours.gpus, ours.fabric_ports, ours.weight_kg) == (dgx.gpus, dgx.fabric_ports, dgx.weight_kg)
    assert catalogue.switches["qm9700"].power_max_w == 1600
    assert load().switches["qm9700"].power_max_w == 1720
    told = {(fact.entity, fact.attribute): (fact.value, fact.catalogue, fact.source) for fact in own.facts}
    assert told["qm9700", "power_max_w"] == (1600, 1720, "parts.csv:3")
    assert ("qm9700", "height_u") not in told  # the same as the catalogue's
    assert [(price.sku, price.usd, price.basis, price.source) for price in own.prices] == [
        ("our-hgx", 280_000, "given", "parts.csv:2"),
        ("cat6-copper", 4.5, "given", "parts.csv:4"),
    ]


@pytest.mark.parametrize(
    ("line", "message", "under"),
    [
        ("sn220,,,98,,,,,", "there is no part 'sn220'; did you mean 'sn2201'?", "sn220"),
        ("mine,sn220,,98,,,,,", "there is no part 'sn220'; did you mean 'sn2201'?", "sn220"),
        ("qm9700,sn2201,,1600,,,,,", "the catalogue has qm9700 already", "sn2201"),
        ("qm9700,,,1.7,,,,,", "1.7 W is far from the catalogue's 1,720 W", "1.7"),
        ("qm9700,,,1.7 kW,,,,,", "'1.7 kW' is not a number of W", "1.7 kW"),
        ("qm9700,,,-1600,,,,,", "-1600 W is impossible", "-1600"),
        ("qm9700,,,0,,,,,", "0 W is impossible", "0"),
        ("qm9700,,,inf,,,,,", "'inf' is not a number of W", "inf"),
        ("qm9700,,,,61,,,,", "61 U is impossible", "61"),
        ("qm9700,,,,,9999,,,", "9999 kg is impossible", "9999"),
        ("qm9700,,,,,,30000,,", "the price has no day", ""),
        ("qm9700,,,,,,30000,2.11.2026,", "'2.11.2026' is no day", "2.11.2026"),
        ("qm9700,,=1+1,,,,,,", "'=1+1' is a formula", "=1+1"),
        (",,,5,,,,,", "the part is missing", ""),
        ("sn2201,,,,,,,,", "sn2201 stands in line 2 already", "sn2201"),
        ("qm9700,,", "the line has 3 cells, the header 9", None),
    ],
)
def test_wrong_cells(tmp_path: Path, line: str, message: str, under: str | None) -> None:
    """Each is reported with its place and what to do."""
    with pytest.raises(BlueprintError) as error:
        read_parts(written(tmp_path, f"{HEADER}sn2201,,,98,,,,,\n{line}\n"), load())
    told = [problem for problem in error.value.problems if problem.message == message]
    assert len(told) == 1, [problem.message for problem in error.value.problems]
    place = told[0].position
    assert place is not None
    assert place.line == 3
    assert told[0].help or under is None
    if under:
        assert line[place.column - 1 : place.column - 1 + place.length] == under


@pytest.mark.parametrize(
    ("header", "message", "advice"),
    [
        ("part,power_kw", "the column 'power_kw' is in a unit that is not read", "power is in W: power_max_w"),
        ("part,weight_lb", "the column 'weight_lb' is in a unit that is not read", "weight is in kg: weight_kg"),
        ("part,price_eur", "the column 'price_eur' is in a unit that is not read", "price is in USD: price_usd"),
        ("part,hieght_u", "there is no column 'hieght_u'; did you mean 'height_u'?", "one of"),
        ("name,note", "the column part is missing", "it names"),
        ("part,note,note", "the column note stands twice", "keep one"),
    ],
)
def test_wrong_columns(tmp_path: Path, header: str, message: str, advice: str) -> None:
    """A unit stands in the header and is one that is read; no column is passed over."""
    with pytest.raises(BlueprintError) as error:
        read_parts(written(tmp_path, header + "\nqm9700" + "," * header.count(",") + "\n"), load())
    problem = next(one for one in error.value.problems if one.message == message)
    assert problem.help is not None
    assert problem.help.startswith(advice)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing or empty file ends in a sentence."""
    with pytest.raises(InputError, match="there is no file"):
        read_parts(tmp_path / "none.csv", load())
    with pytest.raises(InputError, match="is empty"):
        read_parts(written(tmp_path, ""), load())
