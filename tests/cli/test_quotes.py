"""A bill that was sent to a vendor and came back prices the cluster, the cost report and the next bill."""

import csv
import json
from pathlib import Path

from .conftest import SMALL, Command

RATE = "EUR=1.08@2026-11-19"


def filled(folder: Path, **changed: str) -> Path:
    """Return the bill of a folder with quotes of the systems and of the compute switches."""
    with (folder / "bill_of_materials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    quote = {"quote_currency": "EUR", "quote_vendor": "Acme", "quote_lead_time_weeks": "9", "quoted_on": "2026-11-18"}
    rows[0] |= {"quote_unit_price": "250000", **quote, **changed}
    path = folder.parent / "back.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_quotes_price_plan_bill_and_workbook(command: Command, tmp_path: Path) -> None:
    """The quote is the plan's price, with file and line; the written workbook, read back, gives the same plan."""
    small = tmp_path / "small.yaml"
    small.write_text(SMALL)
    out = tmp_path / "out"
    assert command("onprem", small, "-o", out).code == 0
    ended = command("onprem", small, "-o", out, "--quotes", filled(out), "--rate", RATE)
    assert ended.code == 0, ended.err
    assert "back.csv: 1 of" in ended.out
    assert "quoted by Acme" in ended.out
    plan = json.loads((out / "plan.json").read_text())
    line = plan["options"][0]["money"]["lines"][0]
    assert (line["unit_usd"], line["basis"], line["source"]) == (270_000, "documented", "Acme, back.csv:2")
    assert line["confidence"] == "high"
    assert line["note"] == "250,000.00 EUR at 1.08 USD per EUR of 2026-11-19; lead time 9 weeks"
    with (out / "bill_of_materials.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert (first["usd_each"], first["quote_unit_price"], first["quote_lead_time_weeks"]) == ("270000", "250000", "9")
    assert "| 270,000.00 |" in (out / "bill_of_materials.md").read_text()
    quoted = ("--quotes", out.parent / "back.csv", "--rate", RATE)
    answered = command("plan", small, "--json", *quoted)
    assert answered.code == 0, answered.err
    assert json.loads(answered.out)["options"][-1]["money"]["lines"][0]["unit_usd"] == 270_000
    compared = command("compare", small, "--finance", "--draws", "10", *quoted)
    assert "back.csv: 1 of" in compared.out
    listed = command("compare", small, "--finance", "--draws", "10")
    assert listed.code == compared.code == 0
    owned = [[line for line in said.splitlines() if "on premises" in line] for said in (compared.out, listed.out)]
    assert owned[0] != owned[1]
    reported = command("report", small, "-o", tmp_path / "tco", *quoted)
    assert "back.csv: 1 of" in reported.out
    assert "250,000.00 EUR at 1.08 USD per EUR" in (tmp_path / "tco" / "report.html").read_text()
    again = command("onprem", small, "-o", tmp_path / "two", "--quotes", out / "bill_of_materials.xlsx", "--rate", RATE)
    assert again.code == 0, again.err
    other = json.loads((tmp_path / "two" / "plan.json").read_text())
    assert other["options"][0]["money"]["lines"][0]["unit_usd"] == 270_000


def test_wrong_quotes_write_nothing(command: Command, tmp_path: Path) -> None:
    """A wrong line ends in its place and a caret, exit code 2, and nothing is written."""
    small = tmp_path / "small.yaml"
    small.write_text(SMALL)
    out = tmp_path / "out"
    assert command("onprem", small, "-o", out).code == 0
    for changed, said in (
        ({}, "EUR has no dated rate"),
        ({"quote_currency": "USD", "quantity": "99"}, "the quote is for 99 of dgx-h100"),
        ({"quote_currency": "USD", "part": "dgx-h101"}, "did you mean 'dgx-h100'"),
    ):
        ended = command("onprem", small, "-o", tmp_path / "other", "--quotes", filled(out, **changed))
        assert ended.code == 2
        assert said in ended.err
        assert "--> back.csv:2:" in ended.err
        assert not (tmp_path / "other").exists()
    assert "--rate is for quotes" in command("onprem", small, "-o", out, "--rate", RATE).err


def test_own_parts_reach_every_document(command: Command, tmp_path: Path) -> None:
    """Watts and price of the file beside the blueprint are in plan, racks and bill, and the plan says so."""
    (tmp_path / "parts.csv").write_text(
        "part,like,name,power_max_w,height_u,price_usd,priced_on\nours,dgx-h100,Our node,9800,6,280000,2026-11-02\n"
    )
    blueprint = tmp_path / "own.yaml"
    blueprint.write_text(SMALL.replace("system: dgx-h100", "system: ours\n    parts: parts.csv"))
    told = command("plan", blueprint, "--on", "onprem")
    assert "ours: power_max_w 9,800" in told.out
    out = tmp_path / "out"
    assert command("onprem", blueprint, "-o", out).code == 0
    plan = json.loads((out / "plan.json").read_text())
    line = plan["options"][0]["money"]["lines"][0]
    assert (line["unit_usd"], line["basis"], line["source"]) == (280_000, "given", "parts.csv:2")
    with (out / "racks.csv").open(newline="") as file:
        node = next(csv.DictReader(file))
    assert (node["part"], node["power_w"], node["height_u"]) == ("ours", "9800", "6")
    assert "- ours: power_max_w 9,800" in (out / "own_parts.md").read_text()
    (tmp_path / "parts.csv").write_text("part,power_kw\nqm9700,1.7\n")
    ended = command("plan", blueprint, "--on", "onprem")
    assert ended.code == 2
    assert "--> parts.csv:1:6" in ended.err


def test_a_sweep_says_that_it_does_not_read_own_parts(command: Command, tmp_path: Path) -> None:
    """Facts that would be passed over are refused."""
    (tmp_path / "parts.csv").write_text("part,power_max_w\nqm9700,1600\n")
    blueprint = tmp_path / "own.yaml"
    blueprint.write_text(SMALL.replace("system: dgx-h100", "system: dgx-h100\n    parts: parts.csv"))
    ended = command("sweep", blueprint)
    assert ended.code == 2
    assert "a sweep does not read the file of targets.onprem.parts" in ended.err
