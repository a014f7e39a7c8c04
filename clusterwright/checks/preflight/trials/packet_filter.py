"""What a set of rules of nftables does with a packet: enough of its language for rules about addresses and users."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

_BLOCK = re.compile(r"chain\s+(\w+)\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_HOOK = re.compile(r"type\s+\w+\s+hook\s+(\w+)\s+priority\s+[^;\n]+(?:;\s*policy\s+(\w+))?")
_REFUSES = ("drop", "reject")
_VERDICTS = {"accept": "accepted", "return": "return", **dict.fromkeys(_REFUSES, "refused")}
_TWO_WORDS = ("ip", "ip6", "tcp", "udp", "th", "meta")
_COMPARED = ("!=", "==", ">", "<", ">=", "<=")
_STEPS = 100


class NotUnderstoodError(Exception):
    """A rule uses what is not evaluated here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Packet:
    """A packet of TCP: owner of its socket by number, address and port that it goes to."""

    user: int
    address: str
    port: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """A chain: hook that it hangs on, empty for none, what happens at its end, and its rules as words."""

    name: str
    hook: str
    refuses_at_end: bool
    rules: tuple[tuple[str, ...], ...]


def chains(text: str) -> dict[str, Chain]:
    """Return the chains of a file for `nft -f`."""
    plain = re.sub(r"#.*", "", text)
    return {name: _chain(name, body) for name, body in _BLOCK.findall(plain)}


def refuses(found: dict[str, Chain], hook: str, packet: Packet) -> bool:
    """Tell whether a packet is refused at a hook.

    Raises:
        NotUnderstoodError: for a rule that is not evaluated here.
    """
    return any(_walk(found, chain, packet, 0) == "refused" for chain in found.values() if chain.hook == hook)


def _chain(name: str, body: str) -> Chain:
    hook = _HOOK.search(body)
    rest = _HOOK.sub("", body) if hook else body
    lines = [line.strip() for line in re.split(r"[;\n]", rest)]
    rules = tuple(tuple(_words(line)) for line in lines if line and not line.startswith("policy"))
    policy = re.search(r"\bpolicy\s+(\w+)", body)
    return Chain(
        name=name, hook=hook[1] if hook else "", refuses_at_end=bool(policy and policy[1] in _REFUSES), rules=rules
    )


def _words(line: str) -> Iterator[str]:
    for word in re.findall(r"\{[^}]*\}|\S+", line):
        yield word.strip()


def _walk(found: dict[str, Chain], chain: Chain, packet: Packet, depth: int) -> str:
    """Return `refused`, `accepted` or nothing where a chain ends."""
    if depth > _STEPS:
        message = "chains that lead to each other"
        raise NotUnderstoodError(message)
    for rule in chain.rules:
        verdict = _rule(found, rule, packet, depth)
        if verdict == "return":
            break
        if verdict:
            return verdict
    return "refused" if chain.refuses_at_end and chain.hook else ""


def _rule(found: dict[str, Chain], words: tuple[str, ...], packet: Packet, depth: int) -> str:
    """Return the verdict of a rule on a packet, nothing where the rule is not about it."""
    left = [word for word in words if word not in ("counter", "log")]
    while left:
        word = left.pop(0)
        if word in _VERDICTS:
            return _VERDICTS[word]
        if word in ("jump", "goto"):
            target = found.get(left[0]) if left else None
            if target is None:
                message = f"{word} to a chain that is not there"
                raise NotUnderstoodError(message)
            return _walk(found, target, packet, depth + 1)
        key = f"{word} {left.pop(0)}" if word in _TWO_WORDS and left else word
        compared = left.pop(0) if left and left[0] in _COMPARED else "=="
        if not left:
            message = f"{' '.join(words)} has no end"
            raise NotUnderstoodError(message)
        if not _holds(key, compared, left.pop(0), packet):
            return ""
    return ""


def _holds(key: str, compared: str, value: str, packet: Packet) -> bool:
    """Tell whether one condition of a rule holds for a packet."""
    wanted = [one.strip() for one in value.strip("{}").split(",") if one.strip()]
    if key in ("meta skuid", "skuid") and compared not in ("!=", "=="):
        number = _user(wanted[0])
        return {">": packet.user > number, ">=": packet.user >= number, "<": packet.user < number}.get(
            compared, packet.user <= number
        )
    return _among(key, wanted, packet) == (compared != "!=")


def _among(key: str, wanted: list[str], packet: Packet) -> bool:
    """Tell whether what a key stands for is one of some values."""
    if key in ("ip daddr", "ip6 daddr"):
        own = ip_address(packet.address)
        return any(own in ip_network(one, strict=False) for one in wanted)
    if key in ("tcp dport", "th dport"):
        return any(_in_range(packet.port, one) for one in wanted)
    if key == "udp dport":
        return False
    if key in ("meta l4proto", "ip protocol"):
        return "tcp" in wanted or "6" in wanted
    if key in ("meta skuid", "skuid"):
        return packet.user in map(_user, wanted)
    message = f"{key} is not evaluated"
    raise NotUnderstoodError(message)


def _user(text: str) -> int:
    return 0 if text == "root" else int(text) if text.isdigit() else -1


def _in_range(port: int, text: str) -> bool:
    first, dash, last = text.partition("-")
    if not first.isdigit():
        return {"http": 80, "https": 443, "domain": 53, "ssh": 22}.get(text) == port
    return int(first) <= port <= int(last) if dash and last.isdigit() else int(first) == port
