"""A project that is written again keeps what its owner has set, and says so."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from clusterwright.errors import InputError
from clusterwright.outputs.folder import File, text, write
from clusterwright.outputs.project.kept_values import keep_values

NAME = "nodes/Pulumi.small.yaml"


def merged(base: str | None, current: str, new: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the merged file as a mapping, and the lines of what was kept."""
    found = keep_values(NAME, None if base is None else base.encode(), current.encode(), new.encode())
    return YAML(typ="safe").load(found.content.decode()), found.kept


def config(**values: object) -> str:
    """Return a layer's file with these values."""
    lines = "".join(f"  aws-gpu-nodes:{key}: {value}\n" for key, value in values.items())
    return f"# Written from the plan.\nconfig:\n{lines}"


def test_the_owners_number_survives_another_plan() -> None:
    """`nodeCount` 40 of the owner stays 40 when the plan goes from 36 to 48; what he left follows the plan."""
    found, kept = merged(
        config(nodeCount=36, capacity="on-demand"),
        config(nodeCount=40, capacity="on-demand"),
        config(nodeCount=48, capacity="spot"),
    )
    assert found == {"config": {"aws-gpu-nodes:nodeCount": 40, "aws-gpu-nodes:capacity": "spot"}}
    assert kept == ("aws-gpu-nodes:nodeCount 40 is kept (the plan has 48)",)


def test_without_the_last_version_every_difference_is_the_owners() -> None:
    """A project of an older release keeps all of its values and gets the keys that are new."""
    found, _ = merged(None, config(nodeCount=40, capacity="spot"), config(nodeCount=36, capacity="on-demand", zone="a"))
    assert found["config"] == {
        "aws-gpu-nodes:nodeCount": 40,
        "aws-gpu-nodes:capacity": "spot",
        "aws-gpu-nodes:zone": "a",
    }


def test_added_and_removed_keys_stay_so_and_secrets_are_not_shown() -> None:
    """A key that the owner added stays, one that he removed stays removed, and a secret's text is in no message."""
    current = "encryptionsalt: v1:abc\nconfig:\n  a:password:\n    secure: v1:hidden\n  a:mine: 3\n"
    found, kept = merged("config:\n  a:gone: 1\n", current, "config:\n  a:gone: 1\n  a:new: 2\n")
    assert found == {
        "encryptionsalt": "v1:abc",
        "config": {"a:new": 2, "a:password": {"secure": "v1:hidden"}, "a:mine": 3},
    }
    assert "hidden" not in "".join(kept)
    assert "a:gone stays removed (the plan has 1)" in kept


def test_a_key_that_the_project_no_longer_has_is_dropped_with_a_word() -> None:
    """A changed value of a key that is gone would stop the programs: it is left out, and said."""
    found, kept = merged(config(plannedNodes=36), config(plannedNodes=40), config(nodeCount=36))
    assert found == {"config": {"aws-gpu-nodes:nodeCount": 36}}
    assert kept == ("aws-gpu-nodes:plannedNodes 40 is gone: the project has no such key any more",)


def test_fields_of_an_object_are_merged_one_by_one() -> None:
    """An image that the owner set in `nodeType` stays, and the facts beside it follow the catalogue."""
    base = "config:\n  a:nodeType:\n    image: one\n    cpus: 1\n"
    mine = base.replace("one", "mine")
    found, _ = merged(base, mine, base.replace("one", "two").replace("cpus: 1", "cpus: 2"))
    assert found == {"config": {"a:nodeType": {"image": "mine", "cpus": 2}}}


@pytest.mark.parametrize("broken", ["config: [", "- a\n- b\n", "", "\x00", "a: &b *c"])
def test_a_file_that_is_no_mapping_is_refused(broken: str) -> None:
    """What cannot be read is named, and not replaced."""
    with pytest.raises(InputError, match=r"Pulumi\.small\.yaml"):
        keep_values(NAME, None, broken.encode(), b"config:\n  a:b: 1\n")


VALUES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3) | st.sampled_from(["x", "y"]), max_size=6)


@given(base=VALUES, new=VALUES)
def test_an_untouched_file_becomes_the_new_one(base: dict[str, object], new: dict[str, object]) -> None:
    """Where the owner changed nothing, the merge is the new file and keeps nothing."""
    found, kept = merged(str({"config": base}), str({"config": base}), str({"config": new}))
    assert found == {"config": new}
    assert kept == ()


@given(base=VALUES, mine=VALUES, new=VALUES)
def test_every_change_of_the_owner_is_in_the_result(
    base: dict[str, object], mine: dict[str, object], new: dict[str, object]
) -> None:
    """A key of the new project has the owner's value where he changed it, else the new one."""
    found, _ = merged(str({"config": base}), str({"config": mine}), str({"config": new}))
    result = found["config"]
    assert isinstance(result, dict)
    for key, value in new.items():
        changed = base.get(key) != mine.get(key)
        assert result.get(key) == (mine.get(key) if changed else value)


def test_a_forced_write_keeps_values_again_and_again(tmp_path: Path) -> None:
    """Values survive any number of forced writes; without force the file still counts as the owner's."""
    out, path = tmp_path / "out", tmp_path / "out" / NAME

    def files(count: int) -> dict[str, File]:
        return {NAME: File(content=config(nodeCount=count).encode(), merge=keep_values), "README.md": text("page")}

    write(out, files(36))
    path.write_text(config(nodeCount=40))
    for count in (36, 48, 36):
        with pytest.raises(InputError, match="changed since they were written"):
            write(out, files(count))
        written = write(out, files(count), force=True)
        assert "nodeCount: 40" in path.read_text()
        assert [line for line in written.kept if "nodeCount 40 is kept" in line]
    path.write_text("config: [")
    with pytest.raises(InputError, match="is no YAML"):
        write(out, files(36), force=True)
    assert path.read_text() == "config: ["
