"""What only the user knows of a cloud's project: account, keys, images without a public default."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.catalog.records import Instance
from clusterwright.plan.record import Option

_UBUNTU_HPC = "microsoft-dsvm:ubuntu-hpc"

#: Layer to the keys that its `Pulumi.yaml` declares, and what it says of them: of an object, its fields.
Declared = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class FillIn:
    """One value that the user sets.

    Attributes:
        key: of the configuration, as `Pulumi.yaml` declares it (`section.field` within an object) or with the
            provider's own prefix.
        value: what to type, as shell text with a placeholder in capitals.
        why: what it is, and what becomes of it.
        layers: whose stacks need it.
        required: whether `pulumi up` refuses to go without.
    """

    key: str
    value: str
    why: str
    layers: tuple[str, ...] = ()
    required: bool = True

    @property
    def command(self) -> str:
        """The command that sets it, in every layer that needs it."""
        return f"./cluster.sh set {_quoted(self.key)} {self.value}"


def _quoted(key: str) -> str:
    return f"'{key}'" if "[" in key else key


def fill_ins(option: Option, instance: Instance, declared: Declared) -> tuple[FillIn, ...]:
    """Return what the user sets before the first `up`, in the order of the README.

    Args:
        option: the plan's option for a cloud.
        instance: its instance type.
        declared: keys of the layers; a key that no layer declares is not asked for.
    """
    # The services of managed Kubernetes choose the image that fits their version.
    image = _image(option.target, instance) if option.deployment.scheduler == "slurm" else ()
    entries = (*_ACCOUNT[option.target], *image, *_OPTIONAL[option.target], *_reach(option))
    placed = (_placed(entry, declared) for entry in entries)
    return tuple(entry for entry in placed if entry.layers)


def _placed(entry: FillIn, declared: Declared) -> FillIn:
    head, _, field = entry.key.partition("[")[0].partition(".")
    layers = tuple(
        layer
        for layer, keys in declared.items()
        if ":" in head or (head in keys and re.search(rf"\b{field}\b", keys[head]) is not None)
    )
    return FillIn(key=entry.key, value=entry.value, why=entry.why, layers=layers, required=entry.required)


_PASSWORD = FillIn(
    key="accountingPassword",
    value='--secret <<<"$(openssl rand -hex 24)Aa1"',
    why="the password of the database of finished jobs; it goes from here into the cloud's secret store",
)
#: What a cloud asks of its user's account.
_ACCOUNT: Mapping[str, tuple[FillIn, ...]] = {
    "aws": (),
    "azure": (
        FillIn(
            key="adminSshPublicKey",
            value='"$(cat ~/.ssh/id_ed25519.pub)"',
            why="Azure wants a public key on every machine; Bastion is the only way to use it",
        ),
        _PASSWORD,
    ),
    "gcp": (
        FillIn(key="gcp:project", value="YOUR-PROJECT", why="the project that everything is created in"),
        _PASSWORD,
    ),
}
#: An image of one's own, where images are known by one name, without a version.
_OWN_IMAGE: Mapping[str, FillIn] = {
    "aws": FillIn(
        key="nodeType.image",
        value="ami-YOUR-IMAGE",
        why="an image with the driver of these accelerators; no default is known",
    ),
    "gcp": FillIn(
        key="nodeType.image",
        value="projects/YOUR-PROJECT/global/images/YOUR-IMAGE",
        why="an image of your own: see Image below",
    ),
}
_ALERTS = (FillIn(key="alertEmail", value="YOU@EXAMPLE.COM", why="who gets the budget alerts", required=False),)
#: What a cluster goes without.
_OPTIONAL: Mapping[str, tuple[FillIn, ...]] = {
    "aws": _ALERTS,
    "azure": _ALERTS,
    "gcp": (
        FillIn(key="operators[0]", value="user:YOU@EXAMPLE.COM", why="who may log in; nobody else can", required=False),
        *_ALERTS,
        FillIn(
            key="billingAccount",
            value="012345-6789AB-CDEF01",
            why="for budget alerts; without it there is no budget",
            required=False,
        ),
    ),
}


def _image(cloud: str, instance: Instance) -> tuple[FillIn, ...]:
    own = _OWN_IMAGE.get(cloud)
    if own is None:
        return _versioned_image(instance)
    return (own,) if instance.image is None else ()


def _versioned_image(instance: Instance) -> tuple[FillIn, ...]:
    amd, arm = "mi300" in instance.accelerator, instance.architecture == "arm64"
    listed = instance.image or f"{_UBUNTU_HPC}:{'2404-rocm' if amd else '2404'}:latest"
    publisher, offer, sku, version = listed.split(":")
    if version != "latest":
        return ()
    versions = f"az vm image list --publisher {publisher} --offer {offer} --sku {sku} --all"
    node = FillIn(
        key="nodeType.image",
        value=f"{publisher}:{offer}:{sku}:VERSION",
        why=f"a fixed version, so that nodes stay alike: {versions}",
    )
    if not amd and not arm:
        return (node,)
    controller = FillIn(
        key="controllerImage",
        value=f"{_UBUNTU_HPC}:2404:VERSION",
        why="the controller is an x86 machine without GPU and takes the plain image",
    )
    return node, controller


def _reach(option: Option) -> tuple[FillIn, ...]:
    if option.deployment.scheduler != "kubernetes":
        return ()
    why = (
        "addresses that the API server answers beside the network; without one `up` reaches it through the cloud's own "
        "gate (see The private endpoint below)"
    )
    return (FillIn(key="operatorCidrs[0]", value="203.0.113.7/32", why=why, required=False),)
