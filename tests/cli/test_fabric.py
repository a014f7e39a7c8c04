"""The fabric command."""

import json

from .conftest import Command


def test_json_has_integer_counts(command: Command) -> None:
    """The JSON names every count as an integer; 127 DGX H100 with UFM are the reference bill's."""
    ended = command("fabric", "--system", "dgx-h100", "--units", "4", "--nodes", "127", "--switch", "qm9700", "--json")
    assert ended.code == 0
    found = json.loads(ended.out)
    expected = {
        "leaf": 32,
        "spine": 16,
        "core": 0,
        "node_leaf_cables": 1020,
        "leaf_spine_cables": 1024,
        "spine_core_cables": 0,
        "switch_optics": 1536,
        "node_optics": 508,
    }
    assert {name: found[name] for name in expected} == expected
    assert all(isinstance(found[name], int) for name in expected)


def test_text_says_what_is_bought(command: Command) -> None:
    """The text names systems, units, switches and how a leaf is cabled."""
    ended = command("fabric", "--system", "gb200-nvl72", "--units", "2", "--switch", "qm9700")
    assert ended.code == 0
    assert "16 x NVIDIA GB200 NVL72 rack (1,152 GPUs) in 2 scalable units, 3 levels" in ended.out
    assert "a leaf: 18 downlinks, 18 uplinks\n  3 of them to each of 6 spines" in ended.out


def test_bad_input(command: Command) -> None:
    """Unknown names, sizes and groupings end in 2 with what to do."""
    assert command("fabric", "--system", "dgx-h1000", "--units", "4", "--switch", "qm9700").code == 2
    unsized = command("fabric", "--system", "dgx-h100", "--switch", "qm9700")
    assert (unsized.code, "--units" in unsized.err) == (2, True)
    grouped = command(
        "fabric", "--system", "dgx-h100", "--units", "4", "--switch", "qm9700", "--rail-groups", "sideways"
    )
    assert grouped.code == 2


def test_limits_end_in_one_with_their_rule(command: Command) -> None:
    """What no switches can make is a rule that failed, told with its id and a way out that works."""
    base = ("fabric", "--system", "dgx-h100", "--switch", "qm9700")
    for more, rule, help_ in (
        (("--nodes", "12288"), "NET002", "4 planes work"),
        (("--nodes", "6000"), "NET001", "2 planes work"),
        (("--units", "4", "--nodes", "129"), "NET004", "up to 128 nodes, or 5 units"),
        (("--units", "1", "--topology", "torus"), "NET005", "rail (a leaf per rail)"),
        (("--units", "1", "--switch", "qm8790"), "NET006", "at least as fast"),
    ):
        ended = command(*base, *more)
        assert (ended.code, rule in ended.err, ended.out) == (1, True, "")
        assert help_ in " ".join(ended.err.split())


def test_planes_growth_and_topology(command: Command) -> None:
    """The JSON says how planes share ports and counts all of them; the text says what waits for growth."""
    ended = command("fabric", "--system", "dgx-h100", "--switch", "qm9700", "--units", "2", "--planes", "2", "--json")
    found = json.loads(ended.out)
    assert (found["planes"], found["planes_split"], found["topology"]) == (2, "rails", "rail")
    assert (found["leaf"], found["node_optics"], found["fabric_of_one_plane"]["rails"]) == (16, 256, 4)
    ended = command("fabric", "--system", "dgx-h100", "--switch", "qm9700", "--units", "4", "--nodes", "40")
    assert "2 of 4 units have nodes today" in ended.out
    ended = command("fabric", "--system", "dgx-h100", "--switch", "qm9700", "--nodes", "16", "--topology", "plain")
    assert "a leaf: 32 downlinks, 32 uplinks" in ended.out


def test_an_ethernet_fabric_is_proved_by_its_equal_ways(command: Command) -> None:
    """No subnet manager is needed: the ways that shortest-path protocols compute are walked, and told as JSON too."""
    words = ("fabric", "--system", "mi300x-8gpu", "--switch", "sn5600", "--nodes", "64", "--prove")
    ended = command(*words)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("PROVEN  compute fabric of 64 × ")
    assert "ways of equal cost from every leaf to every other one" in ended.out
    proof = json.loads(command(*words, "--json").out)
    assert (proof["proven"], proof["findings"], proof["ends"]) == (True, [], 512)
    assert proof["busiest_cable"] <= 1
