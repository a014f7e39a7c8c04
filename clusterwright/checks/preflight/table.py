"""Every check: its stable id, what holds when it passes, what it needs, what to do when it does not, and its code.

Ids are never given to another check. PRE001 to PRE099 need nothing; PRE101 and up ask the provider, read-only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from clusterwright.checks.preflight import (
    accounts,
    addresses,
    api_server,
    capacity,
    frame,
    jobs,
    layers,
    literals,
    modules,
    node_data,
    node_scripts,
    node_types,
    places,
    plan_rules,
    pods,
    program,
    quotas,
    recorded_checks,
    scripts,
    spending,
    storage,
    tear_down,
    versions,
)
from clusterwright.checks.preflight import secret_settings as secrets
from clusterwright.checks.preflight.results import Outcome
from clusterwright.checks.preflight.subject import Subject

NOTHING = "nothing"
CREDENTIALS = "credentials"


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check.

    Attributes:
        id: stable; title: what holds when it passes.
        needs: `nothing`, or `credentials` of the provider (read-only).
        fix: what to do when it fails and nothing better is known.
        run: yields what was found; yielding nothing means that the check does not apply. None for checks that ask the
            provider.
    """

    id: str
    title: str
    needs: str
    fix: str
    run: Callable[[Subject], Iterable[Outcome]] | None = None


def _offline(number: int, title: str, fix: str, run: Callable[[Subject], Iterable[Outcome]]) -> Check:
    return Check(id=f"PRE{number:03d}", title=title, needs=NOTHING, fix=fix, run=run)


def _each(*runs: Callable[[Subject], Iterable[Outcome]]) -> Callable[[Subject], Iterator[Outcome]]:
    """Return one check of several: of the settings, and of what the program makes of them."""

    def run(subject: Subject) -> Iterator[Outcome]:
        for one in runs:
            yield from one(subject)

    return run


def _online(number: int, title: str, fix: str) -> Check:
    return Check(id=f"PRE{number:03d}", title=title, needs=CREDENTIALS, fix=fix)


CHECKS = (
    _offline(1, "the project is whole", "write it again with `clusterwright stack`", frame.parts),
    _offline(2, "settings are known and complete", "the layer's Pulumi.yaml describes each", frame.keys),
    _offline(3, "what only you know is filled in", "README.md lists it", frame.filled_in),
    _offline(4, "layers agree", "give every layer the same value", layers.agreement),
    _offline(5, "layers refer to each other", "write organization/CLOUD-gpu-LAYER/STACK", layers.references),
    _offline(
        6,
        "no secret in plain text",
        "pulumi config set --secret",
        _each(secrets.plain_secrets, literals.literal_secrets),
    ),
    _offline(7, "the type is known", "clusterwright facts lists the types", node_types.known),
    _offline(8, "the type is offered here", "choose a region or zone that has it", places.offered),
    _offline(9, "the zone is of the region", "nodes and file system share one zone", layers.zone),
    _offline(10, "nodes are wired as their type", "take the catalogue's facts", node_types.wiring),
    _offline(11, "the network's range is free", "take another private range", addresses.ranges),
    _offline(12, "nobody from outside comes in", "name the ranges", addresses.open_to_everyone),
    _offline(13, "fabric and Lustre are let through", "put the rules back: README.md", recorded_checks.fabric_rules),
    _offline(14, "an existing network fits", "README.md lists what it must hold", addresses.existing_network),
    _offline(15, "capacity is of one kind", "nothing is bought for you", capacity.kind),
    _offline(
        16,
        "one object decides placement",
        "leave it to the reservation",
        _each(capacity.placement, recorded_checks.placed),
    ),
    _offline(17, "capacity and placement hold the nodes", "fewer nodes, or another capacity", capacity.limits),
    _offline(18, "the file system's size is sold", "take a size that is", storage.file_system),
    _offline(19, "the image fits the type", "take the image of this type", node_types.image_fits),
    _offline(20, "images stay", "name one image", node_types.image_pinned),
    _offline(21, "machines and data are closed", "close them", program.closed),
    _offline(22, "a budget alerts somebody", "set budget and address", spending.budget),
    _offline(
        23,
        "forgotten nodes stop",
        "./cluster.sh set timeToLiveHours 168, or stopWhenIdleMinutes 120",
        spending.end_of_life,
    ),
    _offline(24, "a month fits the budget", "run less, or raise the budget", spending.month),
    _offline(25, "data survive a mistake", "protect them", _each(program.keeps_data, recorded_checks.data_protected)),
    _offline(26, "the policy pack runs", "run it with --policy-pack policy", frame.policy_pack),
    _offline(27, "the workflow is safe", "least permissions, OpenID Connect", frame.workflow),
    _offline(28, "the state is shared", "name a bucket or Pulumi Cloud", frame.state),
    _offline(29, "the quota to ask for", "ask for it days before", quotas.quota),
    _offline(30, "networks to ask for", "ask for it days before", quotas.networks),
    _offline(31, "capacity lasts as long as the run", "take another capacity", capacity.lasts),
    _offline(32, "the network has room", "take a larger range", addresses.room),
    _offline(33, "the plan's own rules hold", "change the blueprint", plan_rules.hold),
    _offline(34, "pods ask for the fabric", "add its devices to the limits", pods.fabric_devices),
    _offline(35, "the program is whole", "put the missing part back", modules.whole_program),
    _offline(36, "the program runs and keeps the rules", "correct the program", recorded_checks.program_runs),
    _offline(37, "scripts are safe", "correct the line", scripts.safe_scripts),
    _offline(38, "jobs use whole nodes", "take the figures of the node's type", jobs.jobs_fit),
    _offline(39, "machines are told what they are", "correct the program", node_data.told_at_boot),
    _offline(40, "destroy leaves data alone", "put the question back", tear_down.destroys_with_a_question),
    _offline(
        41,
        "the API server can be reached",
        "leave apiFromOutside true, or name your addresses in operatorCidrs",
        api_server.api_server,
    ),
    _offline(42, "nodes do their part", "put it back", node_scripts.nodes_do_their_part),
    _offline(43, "somebody can submit", "name users: README.md, Users", accounts.somebody_can_submit),
    _offline(44, "versions are named", "name them: node/README.md, Versions", versions.versions_named),
    _online(101, "the provider takes the login", "log in as for the provider's own command line"),
    _online(102, "the quota suffices", "ask for more, days before"),
    _online(103, "the provider offers the type in the zone", "take a zone that has it"),
    _online(104, "the reservation holds the run", "take one that fits"),
    _online(105, "images exist, and which to pin", "take one that exists"),
    _online(106, "the existing network has room", "README.md lists what it must hold"),
    _online(107, "security groups let the fabric through", "put the rules back with ./cluster.sh up"),
    _online(108, "the quota of networks suffices", "ask for more, days before"),
)
BY_ID = {check.id: check for check in CHECKS}
