"""Every check: its stable id, what it needs, and its code. Titles and fixes are rows of `catalog/rules.csv`.

Ids are never given to another check. PRE001 to PRE099 need nothing; PRE101 and up ask the provider, read-only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.catalog.rules import check_rule
from clusterwright.checks.preflight.configuration import (
    accounts,
    addresses,
    api_server,
    capacity,
    frame,
    layers,
    node_types,
    places,
    plan_rules,
    quotas,
    spending,
    storage,
    workflows,
)
from clusterwright.checks.preflight.configuration import secret_settings as secrets
from clusterwright.checks.preflight.programs import (
    admission,
    changes,
    cluster_fit,
    machines,
    modules,
    network_fit,
    node_data,
    program,
    recorded_checks,
)
from clusterwright.checks.preflight.results import Outcome
from clusterwright.checks.preflight.scripts import (
    job_software,
    jobs,
    literals,
    node_scripts,
    pods,
    safety,
    tear_down,
    versions,
)
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.trials import booted, launched

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


def _each(*runs: Callable[[Subject], Iterable[Outcome]]) -> Callable[[Subject], Iterator[Outcome]]:
    """Return one check of several: of the settings, and of what the program makes of them."""

    def run(subject: Subject) -> Iterator[Outcome]:
        for one in runs:
            yield from one(subject)

    return run


_OFFLINE: Mapping[int, Callable[[Subject], Iterable[Outcome]]] = {
    1: frame.parts,
    2: frame.keys,
    3: frame.filled_in,
    4: layers.agreement,
    5: layers.references,
    6: _each(secrets.plain_secrets, literals.literal_secrets),
    7: node_types.known,
    8: places.offered,
    9: layers.zone,
    10: node_types.wiring,
    11: addresses.ranges,
    12: addresses.open_to_everyone,
    13: recorded_checks.fabric_rules,
    14: addresses.existing_network,
    15: capacity.kind,
    16: _each(capacity.placement, recorded_checks.placed),
    17: capacity.limits,
    18: storage.file_system,
    19: node_types.image_fits,
    20: node_types.image_pinned,
    21: program.closed,
    22: spending.budget,
    23: spending.end_of_life,
    24: spending.month,
    25: _each(program.keeps_data, recorded_checks.data_protected),
    26: frame.policy_pack,
    27: workflows.workflow,
    28: frame.state,
    29: quotas.quota,
    30: quotas.networks,
    31: capacity.lasts,
    32: addresses.room,
    33: plan_rules.hold,
    34: pods.fabric_devices,
    35: modules.whole_program,
    36: _each(recorded_checks.program_runs, network_fit.in_its_network),
    37: safety.safe_scripts,
    38: jobs.jobs_fit,
    39: node_data.told_at_boot,
    40: tear_down.destroys_with_a_question,
    41: api_server.api_server,
    42: node_scripts.nodes_do_their_part,
    43: accounts.somebody_can_submit,
    44: versions.versions_named,
    45: job_software.reached,
    46: booted.boots_as_it_should,
    47: launched.starts_as_planned,
    48: cluster_fit.pods_fit,
    49: admission.admitted,
    50: machines.as_set,
    51: changes.looked_at,
}
_ASK_THE_PROVIDER = range(101, 109)


def _check(number: int) -> Check:
    rule, run = check_rule(f"PRE{number:03d}"), _OFFLINE.get(number)
    return Check(id=rule.id, title=rule.what, needs=CREDENTIALS if run is None else NOTHING, fix=rule.fix, run=run)


CHECKS = tuple(map(_check, (*_OFFLINE, *_ASK_THE_PROVIDER)))
BY_ID = {check.id: check for check in CHECKS}
