"""From a blueprint's cloud section to what the stacks are set up with."""

from collections.abc import Callable
from typing import Any

from clusterwright.blueprint.clouds import CloudTarget
from clusterwright.blueprint.stack_state import StackState
from clusterwright.plan.deployment import AwsExistingIds, AzureExistingIds, ExistingIds, GcpExistingIds, StateBackend

_EXISTING: dict[str, Callable[..., ExistingIds]] = {
    "aws": AwsExistingIds,
    "azure": AzureExistingIds,
    "gcp": GcpExistingIds,
}


def existing_ids(target: str, asked: CloudTarget) -> ExistingIds | None:
    """Return what a target's account already holds; None where the blueprint names nothing."""
    section: Any = getattr(asked.network, "existing", None)
    if section is None:
        return None
    given = {name: getattr(section, name) for name in type(section).model_fields}
    return _EXISTING[target](
        **{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    )


def state_backend(section: StackState | None) -> StateBackend | None:
    """Return where the stacks' state is kept; None for a local folder."""
    if section is None:
        return None
    return StateBackend(
        url=section.url,
        organization=section.organization or "",
        secrets_provider=section.secrets_provider or "",
    )
