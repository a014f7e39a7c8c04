"""The key that everything at rest is encrypted with, and the services that may use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import kms, projects

ENCRYPT_AND_DECRYPT = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
ROTATION_PERIOD = f"{90 * 24 * 3600}s"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterKeyArgs:
    """Where the key is and how fast it is held."""

    cluster_name: str
    region: str
    protect: bool
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class ClusterKey(pulumi.ComponentResource):
    """One key of the cluster's own, which rotates and cannot be deleted by accident."""

    key: kms.CryptoKey

    def __init__(self, name: str, args: ClusterKeyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ClusterKey", name, None, opts)
        ring = kms.KeyRing(
            f"{args.cluster_name}-data",
            location=args.region,
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect, depends_on=args.services),
        )
        self.key = kms.CryptoKey(
            f"{args.cluster_name}-data",
            key_ring=ring.id,
            rotation_period=ROTATION_PERIOD,
            deletion_policy="PREVENT" if args.protect else "DELETE",
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect),
        )
        self.register_outputs({"key": self.key.id})


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyUse:
    """A service that encrypts with the key.

    Attributes:
        key_id: of the key.
        granted: False for a key that somebody else made. Its grants are project-wide and may serve others too: removing
            them with this cluster would lock those out, so they are asked for in README.md instead.
    """

    key_id: pulumi.Input[str]
    granted: bool

    def by_account(self, name: str, email: pulumi.Input[str], opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        """Let a service account use the key; returns what has to exist before the service encrypts anything."""
        if not self.granted:
            return []
        return [
            kms.CryptoKeyIAMMember(
                f"{name}-encryption",
                crypto_key_id=self.key_id,
                role=ENCRYPT_AND_DECRYPT,
                member=pulumi.Output.concat("serviceAccount:", email),
                opts=opts,
            )
        ]

    def by_agent(
        self, name: str, service: str, project: str, opts: pulumi.ResourceOptions, services: Sequence[pulumi.Resource]
    ) -> list[pulumi.Resource]:
        """Let a Google service use the key through its own account in the project, which is made if need be."""
        agent = projects.ServiceIdentity(
            f"{name}-agent",
            project=project,
            service=f"{service}.googleapis.com",
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=services)),
        )
        return [agent, *self.by_account(name, agent.email, opts)]
