"""What an AWS account of the stand-in cloud holds already: zones, a network, a key and a bucket, by id."""

from typing import Any

VPC = "vpc-0aaaaaaaaaaaaaaa0"
#: Subnet to zone and range; those of another network or that give public addresses are for mistakes.
SUBNETS: dict[str, dict[str, Any]] = {
    "subnet-0aaaaaaaaaaaaaaa1": {"availabilityZone": "us-east-1a", "cidrBlock": "10.80.0.0/20"},
    "subnet-0aaaaaaaaaaaaaaa2": {"availabilityZone": "us-east-1a", "cidrBlock": "10.80.32.0/24"},
    "subnet-0aaaaaaaaaaaaaaa3": {"availabilityZone": "us-east-1b", "cidrBlock": "10.80.33.0/24"},
    "subnet-0aaaaaaaaaaaaaaa4": {"availabilityZone": "us-east-1a", "cidrBlock": "10.80.34.0/24"},
    "subnet-0bbbbbbbbbbbbbbb1": {
        "availabilityZone": "us-east-1a",
        "cidrBlock": "10.90.0.0/20",
        "vpcId": "vpc-0bbbbbbbbbbbbbbb0",
    },
    "subnet-0bbbbbbbbbbbbbbb2": {
        "availabilityZone": "us-east-1a",
        "cidrBlock": "10.80.48.0/20",
        "mapPublicIpOnLaunch": True,
    },
}


def look_up(token: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Answer a look-up of something that exists; nothing for what these stacks do not look up."""
    match token:
        case "aws:index/getAvailabilityZones:getAvailabilityZones":
            region = arguments.get("region", "us-east-1")
            return {"names": [f"{region}{letter}" for letter in "abc"]}
        case "aws:ec2/getVpc:getVpc":
            # A network whose id ends in 9 answers no name look-ups.
            on = not str(arguments["id"]).endswith("9")
            return {"enableDnsSupport": on, "enableDnsHostnames": on, "cidrBlock": "10.80.0.0/16"}
        case "aws:ec2/getSubnet:getSubnet":
            return {"vpcId": VPC, "mapPublicIpOnLaunch": False, **SUBNETS.get(arguments["id"], {})}
        case "aws:kms/getKey:getKey":
            return {
                "arn": arguments["keyId"],
                "enabled": True,
                "keyState": "Enabled",
                "keyUsage": "ENCRYPT_DECRYPT",
            }
        case "aws:s3/getBucket:getBucket":
            name = arguments["bucket"]
            return {"arn": f"arn:aws:s3:::{name}", "bucketRegion": "eu-west-1" if "europe" in name else "us-east-1"}
        case _:
            return {}
