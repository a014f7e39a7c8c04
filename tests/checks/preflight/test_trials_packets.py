"""What rules of nftables do with a packet, by the examples of its manual and of the nodes' own file."""

import re
from pathlib import Path

import pytest

from clusterwright.checks.preflight.trials.packet_filter import NotUnderstoodError, Packet, chains, refuses

SCRIPT = Path(__file__).parents[3] / "templates" / "node" / "metadata.sh"
OWN = re.search(r"<<'CONF'\n(.*?)\nCONF", SCRIPT.read_text(), re.DOTALL)
SERVICE = "169.254.169.254"


def decided(text: str, *, user: int = 1000, address: str = SERVICE, port: int = 80, hook: str = "output") -> bool:
    """Return whether a packet is refused."""
    return refuses(chains(text), hook, Packet(user=user, address=address, port=port))


def table(*rules: str, policy: str = "") -> str:
    """Return a table with one chain at the hook of output."""
    lines = "\n".join(rules)
    return f"table inet one {{\n chain out {{\n type filter hook output priority -300{policy}\n{lines}\n }}\n}}\n"


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({}, True),
        ({"user": 0}, False),
        ({"address": "168.63.129.16"}, True),
        ({"address": "fd00:ec2::254"}, True),
        ({"port": 53}, False),
        ({"address": "10.0.0.1"}, False),
        ({"hook": "forward", "user": 0}, True),
    ],
)
def test_the_nodes_own_rules_close_the_metadata_service(given: dict[str, object], refused: bool) -> None:
    """Root asks it, others and containers do not, and names are answered."""
    assert OWN is not None
    assert decided(OWN[1], **given) is refused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "refused"),
    [
        (["meta skuid != root ip daddr 169.254.169.254 drop"], True),
        (["meta skuid 0 ip daddr 169.254.169.254 drop"], False),
        (["meta skuid > 999 ip daddr 169.254.0.0/16 reject"], True),
        (["meta skuid >= 1001 ip daddr 169.254.0.0/16 reject"], False),
        (["ip daddr 169.254.169.254 accept", "drop"], False),
        (["ip daddr { 10.0.0.1, 169.254.169.254 } tcp dport { 53, 80 } drop"], True),
        (["ip daddr 169.254.169.254 tcp dport 443 drop"], False),
        (["tcp dport 1-1024 counter drop"], True),
        (["udp dport 80 drop"], False),
        (["return", "drop"], False),
    ],
)
def test_rules_are_read_as_nft_reads_them(rules: list[str], refused: bool) -> None:
    """The first verdict counts, conditions hold together, and a range holds its ends."""
    assert decided(table(*rules)) is refused


def test_a_policy_decides_at_the_end() -> None:
    """A chain at a hook refuses what no rule accepted, where its policy says so."""
    assert decided(table("tcp dport 22 accept", policy="; policy drop;"))
    assert not decided(table("tcp dport 80 accept", policy="; policy drop;"))
    assert not decided(table("tcp dport 22 accept"))


@pytest.mark.parametrize("rule", ["meta cgroup 5 drop", "jump nowhere", "ip daddr"])
def test_what_is_not_evaluated_is_no_answer(rule: str) -> None:
    """A rule that is not understood raises, in the place of a guess."""
    with pytest.raises(NotUnderstoodError):
        decided(table(rule))
