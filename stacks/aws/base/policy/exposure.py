"""Nothing of a cluster can be reached from the internet."""

from collections.abc import Sequence

from reading import Inputs, first, is_off, objects, texts
from rule import Rule

WORLD = ("0.0.0.0/0", "::/0")
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
PUBLIC_FLAGS = {
    "aws:ec2/instance:Instance": "associatePublicIpAddress",
    "aws:ec2/subnet:Subnet": "mapPublicIpOnLaunch",
    "aws:rds/cluster:Cluster": "publiclyAccessible",
    "aws:rds/clusterInstance:ClusterInstance": "publiclyAccessible",
    "aws:rds/instance:Instance": "publiclyAccessible",
}
BLOCKS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
METADATA = ("aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate")


def public_address(type_: str, inputs: Inputs) -> Sequence[str]:
    """Machines, subnets and databases give nobody a public address."""
    flag = PUBLIC_FLAGS.get(type_)
    if flag is not None and inputs.get(flag) is True:
        return [f"{flag} is true: reach it through Systems Manager instead"]
    if type_ == "aws:ec2/launchTemplate:LaunchTemplate":
        interfaces = objects(inputs, "networkInterfaces")
        public = [place for place, one in enumerate(interfaces) if str(one.get("associatePublicIpAddress")) == "true"]
        return [f"interface {place} has a public address" for place in public]
    return []


def open_ingress(type_: str, inputs: Inputs) -> Sequence[str]:
    """No security group lets the whole internet in."""
    ranges = [str(inputs.get(key)) for key in ("cidrIpv4", "cidrIpv6")] if type_ == INGRESS else []
    if type_ == GROUP:
        for rule in objects(inputs, "ingress"):
            ranges += texts(rule, "cidrBlocks") + texts(rule, "ipv6CidrBlocks")
    return [f"lets {one} in" for one in ranges if one in WORLD]


def open_default_group(type_: str, inputs: Inputs) -> Sequence[str]:
    """The security group that everything without one gets lets nothing through."""
    if type_ != DEFAULT_GROUP:
        return []
    given = [side for side in ("ingress", "egress") if not is_off(inputs.get(side)) and inputs.get(side) != []]
    return [f"the default security group has {side} rules: name a group of your own instead" for side in given]


def public_bucket(type_: str, inputs: Inputs) -> Sequence[str]:
    """Buckets cannot be made public."""
    if type_ != "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock":
        return []
    return [f"{setting} is off" for setting in BLOCKS if is_off(inputs.get(setting))]


def public_endpoint(type_: str, inputs: Inputs) -> Sequence[str]:
    """The Kubernetes API server is private, or open to named addresses only."""
    if type_ != "aws:eks/cluster:Cluster":
        return []
    network = first(inputs, "vpcConfig")
    # EKS makes the endpoint public unless told otherwise, and open to all unless given ranges.
    public = network.get("endpointPublicAccess") in (None, True)
    ranges = texts(network, "publicAccessCidrs")
    if public and (not ranges or any(one in WORLD for one in ranges)):
        return ["the API server is open to the internet: name the addresses in publicAccessCidrs, or make it private"]
    return []


def metadata_without_token(type_: str, inputs: Inputs) -> Sequence[str]:
    """Instance metadata needs a session token (IMDSv2)."""
    if type_ not in METADATA:
        return []
    options = first(inputs, "metadataOptions")
    return [] if options.get("httpTokens") == "required" else ["metadataOptions.httpTokens is not required (IMDSv2)"]


def metadata_over_hops(type_: str, inputs: Inputs) -> Sequence[str]:
    """Instance metadata stays on the machine: a container with a network of its own is a hop away."""
    if type_ not in METADATA or first(inputs, "metadataOptions").get("httpPutResponseHopLimit") == 1:
        return []
    return ["metadataOptions.httpPutResponseHopLimit is not 1: containers reach the machine's rights"]


def plain_connections(type_: str, inputs: Inputs) -> Sequence[str]:
    """The accounting database takes encrypted connections only."""
    if type_ != "aws:rds/clusterParameterGroup:ClusterParameterGroup":
        return []
    given = {one.get("name"): one.get("value") for one in objects(inputs, "parameters")}
    return [] if given.get("require_secure_transport") == "ON" else ["takes plain connections"]


RULES = (
    Rule(name="no-public-address", description="Nothing has a public address.", check=public_address),
    Rule(name="no-open-ingress", description="No port is open to the internet.", check=open_ingress),
    Rule(
        name="closed-default-group",
        description="The default security group lets nothing through.",
        check=open_default_group,
    ),
    Rule(name="no-public-bucket", description="Buckets cannot be made public.", check=public_bucket),
    Rule(name="no-public-api-server", description="The API server is not open to the internet.", check=public_endpoint),
    Rule(
        name="metadata-by-token", description="Instance metadata needs a token (IMDSv2).", check=metadata_without_token
    ),
    Rule(name="metadata-one-hop", description="Instance metadata stays on the machine.", check=metadata_over_hops),
    Rule(name="database-over-tls", description="Database connections are encrypted.", check=plain_connections),
)
