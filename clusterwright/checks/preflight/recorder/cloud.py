"""Stands in for the cloud: ids and outputs of what is created, and answers to look-ups."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import existing_aws, outputs

#: Occurs in every secret answer; whoever finds it outside a secret mark has found a leak.
CANARY = "canary-of-a-secret"
ACCOUNT = "123456789012"
SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"

#: How AKS says that it is reached: in base64, as a file for kubectl.
_KUBECONFIG = base64.b64encode(b"""\
apiVersion: v1
kind: Config
clusters: [{name: small, cluster: {server: "https://small.azmk8s.io:443", certificate-authority-data: YQ==}}]
contexts: [{name: small, context: {cluster: small, user: clusterUser}}]
current-context: small
users: [{name: clusterUser, user: {exec: {command: kubelogin}}}]
""").decode()
_LOOK_UPS: dict[str, dict[str, Any]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": {"accountId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:user/x"},
    "aws:index/getPartition:getPartition": {"partition": "aws", "dnsSuffix": "amazonaws.com"},
    # The provider marks the value of every parameter as secret, since some are.
    "aws:ssm/getParameter:getParameter": {
        "insecureValue": "ami-0abc0abc0abc0abc0",
        "value": {"$secret": f"{CANARY}-parameter"},
    },
    "azure-native:authorization:getClientConfig": {
        "clientId": "66666666-2222-3333-4444-555555555555",
        "objectId": "77777777-2222-3333-4444-555555555555",
        "subscriptionId": SUBSCRIPTION,
        "tenantId": "88888888-2222-3333-4444-555555555555",
    },
    # Somebody else's network, with subnets of the sizes that the README asks for.
    "azure-native:network:getVirtualNetwork": {
        "addressSpace": {"addressPrefixes": ["10.80.0.0/16"]},
        "subnets": [
            {"name": name, "addressPrefix": prefix}
            for name, prefix in (("nodes", "10.80.0.0/20"), ("services", "10.80.32.0/24"), ("lustre", "10.80.33.0/24"))
        ],
    },
    "azure-native:containerservice:listManagedClusterUserCredentials": {
        "kubeconfigs": [{"name": "clusterUser", "value": _KUBECONFIG}]
    },
    # Somebody else's network, in a project of its own.
    "gcp:compute/getSubnetwork:getSubnetwork": {
        "network": "https://www.googleapis.com/compute/v1/projects/host/global/networks/shared",
        "ipCidrRange": "10.20.0.0/20",
    },
    "gcp:organizations/getProject:getProject": {"number": ACCOUNT, "projectId": "my-gpu-project"},
    "gcp:storage/getProjectServiceAccount:getProjectServiceAccount": {
        "emailAddress": f"service-{ACCOUNT}@gs-project-accounts.iam.gserviceaccount.com"
    },
}
#: Outputs that a text of the resource's name would not do for.
_OUTPUTS: dict[str, dict[str, Any]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 7},
    "aws:fsx/lustreFileSystem:LustreFileSystem": {"dnsName": "fs-0.fsx.us-east-1.amazonaws.com", "mountName": "fsxmnt"},
    "aws:eks/cluster:Cluster": {
        "identities": [{"oidcs": [{"issuer": "https://oidc.eks.us-east-1.amazonaws.com/id/0"}]}],
        "certificateAuthority": {"data": "Y2VydGlmaWNhdGU="},
    },
    "aws:rds/cluster:Cluster": {
        "masterUserSecrets": [{"secretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:rds!cluster-0"}]
    },
    "gcp:container/nodePool:NodePool": {
        "managedInstanceGroupUrls": ["https://compute/zones/us-central1-a/instanceGroupManagers/gke-gpu"]
    },
    "gcp:compute/globalAddress:GlobalAddress": {"address": "10.200.0.0"},
    "gcp:lustre/instance:Instance": {"mountPoint": "10.200.0.2@tcp:/shared"},
}
#: Ids that programs take apart.
_IDS = {"gcp:lustre/instance:Instance": "projects/my-gpu-project/locations/us-central1-a/instances/{name}"}


class Cloud:
    """Answers for one run.

    Args:
        dry_run: as in a preview, nothing gets an id or an output that its inputs do not say.
        site_packages: of the environment with the SDKs, whose shapes say which outputs exist.
        stacks: outputs of the stacks that exist already, by full name, with marks for secrets.
    """

    def __init__(self, *, dry_run: bool, site_packages: Path, stacks: Mapping[str, Mapping[str, Any]]) -> None:
        self.dry_run = dry_run
        self._stacks = stacks
        self._sdk = outputs.Sdk(site_packages=site_packages)

    def id_of(self, type_: str, name: str) -> str:
        """Return the id that a resource gets: none in a preview, except for providers, which are the engine's own.

        It says what it is the id of, so that the id of something else in its place is seen.
        """
        if type_.startswith("pulumi:providers:"):
            return f"{name}-id"
        if self.dry_run:
            return ""
        _, module, resource = type_.split(":")
        if type_.startswith("azure-native:"):
            group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups"
            kind = f"{resource[0].lower()}{resource[1:]}s"
            return (
                f"{group}/{name}"
                if kind == "resourceGroups"
                else f"{group}/rg/providers/Microsoft.{module}/{kind}/{name}"
            )
        return _IDS[type_].format(name=name) if type_ in _IDS else f"{name}-{_kebab(resource)}-id"

    def created(self, type_: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs: the inputs, and outside a preview an example of everything else that the type has.

        An input that comes back in another shape (Azure takes identities as a list and returns them as a map) is left
        out of a preview, where it is unknown, and gets an example outside one.
        """
        if type_.startswith("pulumi:providers:"):
            return inputs
        shapes = self._sdk.outputs(type_)
        given = {
            key: outputs.completed(value, shapes[key], f"{name}-{key}", dry_run=self.dry_run)
            if key in shapes
            else value
            for key, value in inputs.items()
            if value is not None and (_marked(value) or key not in shapes or outputs.fits(value, shapes[key]))
        }
        if self.dry_run:
            return given
        service, resource = type_.split(":")[1].partition("/")[0], type_.rpartition(":")[2]
        named = {
            "name": name,
            "arn": f"arn:aws:{service}:us-east-1:{ACCOUNT}:{_kebab(resource)}/{name}",
        }
        examples = {
            key: named[key] if key in named else outputs.example_output(shape, f"{name}-{key}")
            for key, shape in shapes.items()
            if key not in given
        }
        return {**examples, **given, **_OUTPUTS.get(type_, {})}

    def read(self, type_: str, name: str, id_: str) -> dict[str, Any]:
        """Return the properties of what exists already: a stack's outputs, or a resource by its id.

        Raises:
            LookupError: no such stack, in the engine's words.
        """
        if type_ != "pulumi:pulumi:StackReference":
            shapes = self._sdk.outputs(type_)
            return {key: outputs.example_output(shape, f"{name}-{key}") for key, shape in shapes.items()}
        if id_ not in self._stacks:
            raise LookupError(f'unknown stack "{id_}"')
        known = self._stacks[id_]
        secret = sorted(key for key, value in known.items() if "$secret" in str(value))
        return {"name": id_, "outputs": dict(known), "secretOutputNames": secret}

    def looked_up(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a look-up: examples in the shapes that the SDK declares, what was asked for among it."""
        shapes = self._sdk.answers(token)
        name = token.rpartition(":")[2]
        examples = {key: outputs.example_output(shape, f"{name}-{key}") for key, shape in shapes.items()}
        asked = {key: value for key, value in arguments.items() if key in shapes and value is not None}
        return {**examples, **asked, **_LOOK_UPS.get(token, {}), **existing_aws.look_up(token, arguments)}


def _kebab(resource: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", resource).lower()


def _marked(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, dict) and bool(value.keys() & {"$secret", "$unknown", "$resource"})
