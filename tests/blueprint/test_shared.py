"""Blueprints of several workloads: what is read, and what is refused at its place."""

from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.blueprint.reading.problems import BlueprintError, dotted
from clusterwright.blueprint.shared import lists_workloads, load_shared, member_of
from clusterwright.errors import InputError
from clusterwright.interface.planning import load

SHIPPED = assets.root() / "blueprints" / "serve-and-finetune.yaml"


def refused(tmp_path: Path, *changes: tuple[str, str], overrides: tuple[str, ...] = ()) -> dict[str, tuple[str, str]]:
    """Return path, id and message of every problem of the shipped blueprint with other text."""
    text = SHIPPED.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "shared.yaml"
    path.write_text(text)
    with pytest.raises(BlueprintError) as caught:
        load_shared(path, overrides)
    assert caught.value.exit_code == 2
    assert all(problem.help for problem in caught.value.problems)
    assert all(problem.position for problem in caught.value.problems) or overrides
    return {dotted(problem.path): (problem.id or "", problem.message) for problem in caught.value.problems}


def test_the_shipped_one_is_two_blueprints() -> None:
    """Each workload has its own sections and what all have; a weekly run of 36 months is 156 runs within its hours."""
    shared = load_shared(SHIPPED)
    chat, weekly = shared.members
    assert (chat.name, weekly.name, chat.serves, weekly.serves) == ("chat", "weekly", True, False)
    assert chat.loaded.blueprint.name == "serve-and-finetune-chat"
    assert weekly.loaded.blueprint.economics.runs == 156
    assert weekly.loaded.blueprint.goals.finish_within == 5 * 3600
    assert chat.loaded.blueprint.targets == weekly.loaded.blueprint.targets
    assert shared.horizon_months == pytest.approx(36)


def test_a_late_service_has_the_months_that_remain(tmp_path: Path) -> None:
    """A service from month 6 of 36 is planned over 30."""
    text = SHIPPED.read_text().replace("  - name: chat\n", "  - name: chat\n    from_month: 6\n")
    (tmp_path / "late.yaml").write_text(text)
    chat, weekly = load_shared(tmp_path / "late.yaml").members
    assert chat.loaded.blueprint.economics.horizon == pytest.approx(30 * 730 * 3600)
    assert weekly.loaded.blueprint.economics.horizon == pytest.approx(36 * 730 * 3600)


def test_one_is_named_for_other_commands() -> None:
    """FILE#NAME is one workload alone; the file without a name, and an unknown name, say what to do."""
    assert lists_workloads(SHIPPED)
    assert not lists_workloads(assets.root() / "blueprints" / "serve-llama3-70b.yaml")
    assert member_of(Path(f"{SHIPPED}#weekly")) == (SHIPPED, "weekly")
    assert load(f"{SHIPPED}#weekly").blueprint.workload.kind == "finetune"
    assert load(f"{SHIPPED}#chat", overrides=["replicas.spare=0"]).blueprint.replicas.spare == 0
    with pytest.raises(InputError, match="lists several workloads"):
        load(SHIPPED)
    with pytest.raises(InputError, match="no workload 'daily'"):
        load(f"{SHIPPED}#daily")


def test_values_of_the_command_line() -> None:
    """A value of one workload names it; one of all does not; a wrong name is refused with those that there are."""
    shared = load_shared(SHIPPED, ("workloads.chat.traffic.users=100", "economics.horizon=12 months"))
    traffic = shared.members[0].loaded.blueprint.traffic
    assert traffic is not None
    assert traffic.users == 100
    assert shared.horizon_months == pytest.approx(12)
    with pytest.raises(InputError, match="names no workload") as caught:
        load_shared(SHIPPED, ("workloads.daily.traffic.users=100",))
    assert "chat, weekly" in (caught.value.help or "")


def test_every_mistake_has_its_place(tmp_path: Path) -> None:
    """Mistakes of the list, of schedules and of single workloads are named together, each at its place in the file."""
    found = refused(
        tmp_path,
        ("name: weekly", "name: chat"),
        ("precision: fp8", "precision: fp9"),
        ("rank: 16", "rnk: 16"),
        ("    goals:\n", "    hours: {hours: 4}\n    goals:\n"),
        ("      start: 0\n", "      start: 24\n"),
        ("economics:\n", "economics:\n  runs: 3\n"),
        ("targets:                 ", "traffic: {requests_per_s: 1}\ntargets:                 "),
    )
    assert found["workloads.1.name"] == ("WRK004", "two workloads are called 'chat'")
    assert "fp9" in found["workloads.0.workload.precision"][1]
    assert "rnk" in found["workloads.1.workload.rnk"][1]
    assert "always on" in found["workloads.0.hours"][1]
    assert "24" in found["workloads.1.hours.start"][1] or "23" in found["workloads.1.hours.start"][1]
    assert "of one workload" in found["economics.runs"][1]
    assert "of one workload" in found["traffic"][1]


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        (
            "      days: [sunday]\n      start: 0\n      hours: 5",
            "      hours: 25",
            "workloads.1.hours.hours",
            "longer",
        ),
        ("    hours:                      #", "    runs: 3\n    hours:  #", "workloads.1.runs", "both"),
        ("  - name: weekly\n", "  - name: weekly\n    from_month: 35.5\n", "workloads.1.from_month", "horizon of 36"),
        ("  - name: weekly\n", "  - name: weekly\n    targets: {}\n", "workloads.1.targets", "of all workloads"),
        ("  - name: weekly\n", "  - name: weekly\n    hour: 1\n", "workloads.1.hour", "no key"),
    ],
)
def test_schedules_that_cannot_be(tmp_path: Path, old: str, new: str, path: str, said: str) -> None:
    """Hours that overlap themselves, runs beside hours, late beginnings and misplaced sections are refused."""
    found = refused(tmp_path, (old, new))
    assert found[path][0] == "WRK004"
    assert said in found[path][1]


def test_a_list_of_one_is_refused(tmp_path: Path) -> None:
    """One workload needs no list, and what is no list is none."""
    (tmp_path / "one.yaml").write_text("name: a\nworkloads: [{name: b}]\n")
    with pytest.raises(BlueprintError, match="list of 2 to 8"):
        load_shared(tmp_path / "one.yaml")
    (tmp_path / "none.yaml").write_text("name: a\nworkloads: 3\n")
    with pytest.raises(BlueprintError, match="list of 2 to 8"):
        load_shared(tmp_path / "none.yaml")


def test_keys_of_a_workload_that_stand_in_its_entry_belong_in_its_section(tmp_path: Path) -> None:
    """The missing section is shown at its entry, and each key says where it goes."""
    path = tmp_path / "flat.yaml"
    path.write_text(
        "name: lab\nworkloads:\n"
        "  - name: pretrain\n    kind: train\n    model: llama-3-8b\n    tokens: 2e12\n"
        "  - name: chat\n    workload: {kind: serve, model: llama-3-8b}\n    traffic: {requests_per_s: 1, users: 2}\n"
        "targets:\n  onprem: {system: dgx-h100}\n"
    )
    with pytest.raises(BlueprintError) as caught:
        load_shared(path)
    found = {dotted(problem.path): problem for problem in caught.value.problems}
    missing = found["workloads.0.workload"]
    assert missing.position is not None
    assert (missing.message, missing.position.line) == ("workload is missing", 3)
    for key in ("kind", "model", "tokens"):
        assert "it belongs in workload" in (found[f"workloads.0.{key}"].help or "")
