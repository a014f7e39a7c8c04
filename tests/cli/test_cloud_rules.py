"""What a cloud does not give, as the commands show it: ids, places, exit codes; warnings change no exit code."""

import json
from pathlib import Path

import pytest

from .conftest import SMALL, Command

CLOUD = SMALL.replace("    max_nodes: 8\n  onprem:\n    system: dgx-h100\n    max_nodes: 8\n", "    max_nodes: 8\n")


def _write(tmp_path: Path, *replacements: tuple[str, str]) -> Path:
    text = CLOUD
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "cloud.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("old", "new", "code", "place", "said"),
    [
        ("us-east-1", "eu-west-1", 2, "13:13", "error[PLC001]: no source lists p5.48xlarge in 'eu-west-1'"),
        ("max_nodes: 8", "zone: us-east-2a", 2, "14:11", "error[PLC003]: zone 'us-east-2a' is not in region"),
        ("max_nodes: 8", "zone: us-east-1z", 2, "14:11", "error[PLC006]: 'us-east-1' has no zone 'us-east-1z', say"),
        (
            "max_nodes: 8",
            "network: {existing: {vpc_id: vpc-01234567}}",
            2,
            "14:34",
            "error[EXI001]: vpc_id given, but node_subnet_id and service_subnet_ids missing",
        ),
        (
            "max_nodes: 8",
            "min_nodes: 65\n    capacity: capacity-block\n    reservation: cr-0123456789abcdef0",
            1,
            "14:16",
            "error[PLC010]: aws: at least 65 nodes are asked for, but one capacity block holds 64",
        ),
        (
            "max_nodes: 8",
            "file_system: {capacity: 1300 GiB, mb_per_s_per_tib: 250}",
            1,
            "14:29",
            "1,200 GiB at 250 MB/s per TiB (252 USD per month) and 2,400 GiB at 250 MB/s per TiB (504 USD per month)",
        ),
        (
            "max_nodes: 8",
            "network: {cidr: 10.64.0.0/28}",
            1,
            "14:21",
            "the smallest that fits is 10.64.0.0/25",
        ),
    ],
)
def test_errors_of_plan(
    *, command: Command, tmp_path: Path, old: str, new: str, code: int, place: str, said: str
) -> None:
    """Input that cannot be ends with 2, a rule that fails with 1; each at its place, with what to do."""
    ended = command("plan", _write(tmp_path, (old, new)))
    assert ended.code == code, ended.err
    assert said in ended.err
    assert f"cloud.yaml:{place}\n" in ended.err


def test_stack_is_not_written_of_what_cannot_be(command: Command, tmp_path: Path) -> None:
    """No folder is left behind."""
    path = _write(tmp_path, ("max_nodes: 8", "network: {cidr: 10.64.0.0/28}"))
    ended = command("stack", path, "--on", "aws", "-o", tmp_path / "out")
    assert (ended.code, (tmp_path / "out").exists()) == (1, False)
    assert "error[ADR001]" in ended.err


def test_warnings_stand_beside_a_plan(command: Command, tmp_path: Path) -> None:
    """They are shown on stderr in the blueprint's text, and are in the JSON; the place has no prices, hence the 3."""
    path = _write(tmp_path, ("us-east-1", "us-gov-east-1"))
    path.write_text(path.read_text() + "data: {local_nvme: 30 TB}\n")
    ended = command("plan", path, "--json")
    assert ended.code == 3
    assert [warning["id"] for warning in json.loads(ended.out)["warnings"]] == ["PLC002", "EFF003"]
    assert "warning[PLC002]: the only source, cfn-lint 1.58.0, does not list p5.48xlarge" in ended.err
    assert "cloud.yaml:13:13\n" in ended.err
    (error,) = [line for line in ended.err.splitlines() if line.startswith("error")]
    assert error.startswith("error: no way has all its prices on ")


def test_check_counts_warnings(command: Command, tmp_path: Path) -> None:
    """A file with warnings is fine, and says how many it has."""
    path = _write(tmp_path)
    path.write_text(path.read_text() + "cluster: {host_prefix: gpu}\n")
    ended = command("check", path)
    assert ended.code == 0
    assert ended.out == f"{path}: fine, 1 warning\n"
    assert "warning[EFF006]: cluster.host_prefix has no effect" in ended.err
    answer = json.loads(command("check", path, "--json").out)
    assert answer["blueprints"][0]["warnings"][0]["id"] == "EFF006"


def test_a_target_alone_is_not_warned_of_keys_of_the_others(command: Command, small: Path) -> None:
    """Planning one target of several does not make keys of the others useless."""
    small.write_text(
        small.read_text() + "cluster: {host_prefix: gpu, time_to_live: 7 days}\neconomics: {max_price_age: 10 years}\n"
    )
    for target in ("aws", "onprem"):
        ended = command("plan", small, "--on", target)
        assert (ended.code, ended.err) == (0, "")
