"""Rules of a whole stack: what does not work, or is not safe, without another resource."""

from collections.abc import Iterator, Sequence

from reading import objects
from rule import Registered, StackRule

ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
GATEWAY = "aws:ec2/internetGateway:InternetGateway"
NAT = "aws:ec2/natGateway:NatGateway"
ROUTE = "aws:ec2/route:Route"
ROUTES = "aws:ec2/routeTable:RouteTable"
BUCKET = "aws:s3/bucket:Bucket"
# What a bucket has in resources of their own, and what it is without.
OF_A_BUCKET = {
    "aws:s3/bucketPolicy:BucketPolicy": "takes requests in plain text",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": "can be made public",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": "is under Amazon's key",
    "aws:s3/bucketVersioning:BucketVersioning": "keeps no overwritten object",
}


def nat_gateways(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A NAT gateway is in a subnet whose routes lead to an internet gateway: elsewhere nothing comes out of it."""
    return [(urn, "is in a subnet without a route to an internet gateway") for urn in _shut_in(resources)]


def _shut_in(resources: Sequence[Registered]) -> Iterator[str]:
    gateways = {one.urn for one in resources if one.type == GATEWAY}
    public = {one.urn for one in resources if one.type == ROUTES and _leads_out(one, "routes", gateways)}
    for route in resources:
        if route.type == ROUTE and any(route.leads_to("gatewayId", urn) for urn in gateways):
            public.update(route.behind.get("routeTableId", ()))
    joined = [one for one in resources if one.type == ASSOCIATION]
    for one in resources:
        subnets = one.behind.get("subnetId", ()) if one.type == NAT else ()
        # A subnet that exists already has routes that are not in this stack.
        for subnet in subnets:
            tables = {
                urn for each in joined if each.leads_to("subnetId", subnet) for urn in each.behind["routeTableId"]
            }
            if not tables & public:
                yield one.urn


def _leads_out(table: Registered, name: str, gateways: set[str]) -> bool:
    behind = any(table.leads_to(name, urn) for urn in gateways)
    return behind or any(one.get("gatewayId") for one in objects(table.inputs, name))


def whole_buckets(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A bucket is closed, encrypted and versioned by resources beside it."""
    buckets = [one.urn for one in resources if one.type == BUCKET]
    return [
        (urn, f"{message}: no {kind.rpartition(':')[2]} is for it")
        for urn in buckets
        for kind, message in OF_A_BUCKET.items()
        if not any(one.type == kind and one.leads_to("bucket", urn) for one in resources)
    ]


STACK_RULES = (
    StackRule(
        name="nat-gateways-reach-out", description="NAT gateways have a way to the internet.", check=nat_gateways
    ),
    StackRule(
        name="whole-buckets", description="Every bucket is closed, encrypted and versioned.", check=whole_buckets
    ),
)
