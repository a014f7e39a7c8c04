"""Which network interfaces an instance type gets, as a function of the facts in `nodeType`."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class InterfaceSlot:
    """One network interface of a node: card, device index on that card, and EC2 interface type."""

    network_card: int
    device: int
    interface_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FabricFacts:
    """What the instance type offers: cards, EFA interfaces in all, EFA on card 0 or not, interfaces per card."""

    network_cards: int
    fabric_interfaces: int
    card_zero_has_fabric: bool
    max_interfaces_per_card: int


def interface_slots(facts: FabricFacts) -> tuple[InterfaceSlot, ...]:
    """List the interfaces of one node, primary first.

    The primary interface is plain ENA on card 0, device 0, and is the only one with an IP address. Card 0 carries its
    EFA as an extra `efa-only` interface on device 1, every other card on device 0; p6-b300 has no EFA on card 0.
    Source: Amazon EC2 User Guide, "Maximize network bandwidth on accelerated instances with multiple network cards"
    (efa-acc-inst-types); aws-parallelcluster follows it since pull request 7262 (March 2026).
    """
    primary = InterfaceSlot(network_card=0, device=0, interface_type="interface")
    if facts.fabric_interfaces == 0:
        return (primary,)
    fabric: list[InterfaceSlot] = []
    if facts.card_zero_has_fabric:
        fabric.append(InterfaceSlot(network_card=0, device=1, interface_type="efa-only"))
    fabric.extend(
        InterfaceSlot(network_card=card, device=0, interface_type="efa-only") for card in range(1, facts.network_cards)
    )
    return (primary, *fabric)


def fabric_problems(facts: FabricFacts) -> list[str]:
    """Say what contradicts itself in the facts; an empty list means they fit together."""
    if facts.fabric_interfaces == 0:
        return ["cardZeroHasFabric is true but fabricInterfaces is 0"] if facts.card_zero_has_fabric else []
    problems: list[str] = []
    expected = facts.network_cards - 1 + (1 if facts.card_zero_has_fabric else 0)
    if facts.fabric_interfaces != expected:
        problems.append(
            f"fabricInterfaces is {facts.fabric_interfaces}, but {facts.network_cards} network card(s) "
            f"{'with' if facts.card_zero_has_fabric else 'without'} EFA on card 0 carry {expected}"
        )
    if facts.card_zero_has_fabric and facts.max_interfaces_per_card < 2:  # noqa: PLR2004 - ENA plus EFA
        problems.append("cardZeroHasFabric needs maxInterfacesPerCard of 2 or more: card 0 carries ENA and EFA")
    return problems
