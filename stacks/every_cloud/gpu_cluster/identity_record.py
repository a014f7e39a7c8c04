"""What each layer leaves in its state, and to the layers after it, to say which cluster it is of."""

from dataclasses import asdict
from pathlib import Path

import pulumi

from gpu_cluster.identity import TYPE, Identity, read_file


class IdentityRecord(pulumi.ComponentResource):
    """The first resource of every layer, so that also the state of an interrupted first `up` says whose it is."""

    def __init__(self, recorded: Identity) -> None:
        super().__init__(TYPE, "cluster-identity")
        self.register_outputs(asdict(recorded))


def record_identity(*, cluster: str, place: str) -> None:
    """Record which cluster a layer is of, in its state and in its output `identity`.

    Args:
        cluster: its name.
        place: region of the cloud.
    """
    known = read_file(Path.cwd().parent, pulumi.get_stack())
    recorded = Identity(cluster=cluster, place=place, account=known.get("account", ""), id=known.get("id", ""))
    IdentityRecord(recorded)
    pulumi.export("identity", {"cluster": cluster, "place": place})
