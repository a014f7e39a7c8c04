"""Every check: its stable id, what it needs, and its code. Titles and fixes are rows of `catalog/rules.csv`.

Ids are never given to another check. PRE001 to PRE099 need nothing; PRE101 and up ask the provider, read-only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from clusterwright.catalog.rules import check_rule
from clusterwright.checks.preflight import (
    accounts,
    addresses,
    api_server,
    capacity,
    frame,
    job_software,
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


def _offline(number: int, run: Callable[[Subject], Iterable[Outcome]]) -> Check:
    rule = check_rule(f"PRE{number:03d}")
    return Check(id=rule.id, title=rule.what, needs=NOTHING, fix=rule.fix, run=run)


def _each(*runs: Callable[[Subject], Iterable[Outcome]]) -> Callable[[Subject], Iterator[Outcome]]:
    """Return one check of several: of the settings, and of what the program makes of them."""

    def run(subject: Subject) -> Iterator[Outcome]:
        for one in runs:
            yield from one(subject)

    return run


def _online(number: int) -> Check:
    rule = check_rule(f"PRE{number:03d}")
    return Check(id=rule.id, title=rule.what, needs=CREDENTIALS, fix=rule.fix)


CHECKS = (
    _offline(1, frame.parts),
    _offline(2, frame.keys),
    _offline(3, frame.filled_in),
    _offline(4, layers.agreement),
    _offline(5, layers.references),
    _offline(6, _each(secrets.plain_secrets, literals.literal_secrets)),
    _offline(7, node_types.known),
    _offline(8, places.offered),
    _offline(9, layers.zone),
    _offline(10, node_types.wiring),
    _offline(11, addresses.ranges),
    _offline(12, addresses.open_to_everyone),
    _offline(13, recorded_checks.fabric_rules),
    _offline(14, addresses.existing_network),
    _offline(15, capacity.kind),
    _offline(16, _each(capacity.placement, recorded_checks.placed)),
    _offline(17, capacity.limits),
    _offline(18, storage.file_system),
    _offline(19, node_types.image_fits),
    _offline(20, node_types.image_pinned),
    _offline(21, program.closed),
    _offline(22, spending.budget),
    _offline(23, spending.end_of_life),
    _offline(24, spending.month),
    _offline(25, _each(program.keeps_data, recorded_checks.data_protected)),
    _offline(26, frame.policy_pack),
    _offline(27, frame.workflow),
    _offline(28, frame.state),
    _offline(29, quotas.quota),
    _offline(30, quotas.networks),
    _offline(31, capacity.lasts),
    _offline(32, addresses.room),
    _offline(33, plan_rules.hold),
    _offline(34, pods.fabric_devices),
    _offline(35, modules.whole_program),
    _offline(36, recorded_checks.program_runs),
    _offline(37, scripts.safe_scripts),
    _offline(38, jobs.jobs_fit),
    _offline(39, node_data.told_at_boot),
    _offline(40, tear_down.destroys_with_a_question),
    _offline(41, api_server.api_server),
    _offline(42, node_scripts.nodes_do_their_part),
    _offline(43, accounts.somebody_can_submit),
    _offline(44, versions.versions_named),
    _offline(45, job_software.reached),
    _online(101),
    _online(102),
    _online(103),
    _online(104),
    _online(105),
    _online(106),
    _online(107),
    _online(108),
)
BY_ID = {check.id: check for check in CHECKS}
