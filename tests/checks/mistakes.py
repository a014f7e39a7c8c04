"""Mistakes that people make in a generated project, and the check that catches each."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .projects import STACK, Config

Change = Callable[[Config], object]


def set_to(layer: str, key: str, value: Any) -> Change:  # noqa: ANN401 - configuration values
    """Return a change that sets one value; a path goes below it."""

    def change(config: Config) -> None:
        first, *rest = key.split(".")
        if not rest:
            config[layer][first] = value
        else:
            config[layer][first][rest[0]] = value

    return change


def set_everywhere(key: str, value: Any) -> Change:  # noqa: ANN401 - configuration values
    """Return a change that sets one value in every layer that has it."""
    return lambda config: [layer.update({key: value}) for layer in config.values() if key in layer]


def without(layer: str, key: str) -> Change:
    """Return a change that takes one value away."""
    return lambda config: config[layer].pop(key)


class Mistake(NamedTuple):
    """A mistake in the configuration: the check that says it, its status, words of its message and at its line."""

    cloud: str
    name: str
    change: Change
    check: str
    status: str
    message: str
    at: str


class FileMistake(NamedTuple):
    """A mistake in other files: what they hold instead, the check that says it, its status, words of its message."""

    cloud: str
    name: str
    more: dict[str, str | None]
    check: str
    status: str
    message: str


MISTAKES = (
    Mistake("aws", "misspelt key", set_to("nodes", "nodeCuont", 8), "PRE002", "FAIL", "nodeCuont", "nodeCuont"),
    Mistake(
        "aws", "placeholder", set_to("nodes", "nodeType.image", "ami-YOUR-IMAGE"), "PRE003", "FAIL", "YOUR", "ami-YOUR"
    ),
    Mistake(
        "gcp", "placeholder", set_to("nodes", "gcp:project", "YOUR-PROJECT"), "PRE003", "FAIL", "YOUR-PROJECT", "YOUR"
    ),
    Mistake("aws", "names differ", set_to("cluster", "clusterName", "other"), "PRE004", "FAIL", "'other'", "other"),
    Mistake("aws", "tags differ", set_to("nodes", "tags", {"team": "x"}), "PRE004", "WARN", "tags.team", "team"),
    Mistake(
        "gcp",
        "zones differ",
        set_to("nodes", "zone", "us-central1-b"),
        "PRE004",
        "FAIL",
        "us-central1-b",
        "us-central1-b",
    ),
    Mistake("azure", "regions differ", set_to("nodes", "location", "westus"), "PRE004", "FAIL", "westus", "westus"),
    Mistake(
        "gcp", "projects differ", set_to("nodes", "gcp:project", "another-one"), "PRE004", "FAIL", "another", "another"
    ),
    Mistake("aws", "no reference", without("nodes", "clusterStack"), "PRE005", "FAIL", "clusterStack is missing", ""),
    Mistake(
        "aws",
        "other project",
        set_to("nodes", "clusterStack", f"organization/aws-gpu-foundation/{STACK}"),
        "PRE005",
        "FAIL",
        "aws-gpu-foundation",
        "clusterStack",
    ),
    Mistake(
        "aws",
        "other stack",
        set_to("cluster", "foundationStack", "organization/aws-gpu-foundation/prod"),
        "PRE005",
        "FAIL",
        "'prod'",
        "prod",
    ),
    Mistake(
        "aws", "short reference", set_to("nodes", "clusterStack", "small"), "PRE005", "FAIL", "'small'", "clusterStack"
    ),
    Mistake("aws", "password", set_to("cluster", "dbPassword", "hunter2"), "PRE006", "FAIL", "dbPassword", "hunter2"),
    Mistake(
        "aws", "access key", set_to("nodes", "note", "AKIAIOSFODNN7EXAMPLE"), "PRE006", "FAIL", "access key", "AKIA"
    ),
    Mistake(
        "azure",
        "storage key",
        set_to("foundation", "note", "DefaultEndpointsProtocol=https;AccountKey=" + "Ab0/" * 20 + "=="),
        "PRE006",
        "FAIL",
        "storage key",
        "AccountKey",
    ),
    Mistake(
        "gcp",
        "random text",
        set_to("nodes", "note", "q7Jm2ZxP0vRt9LcK4nWb8YsD1fHg6TaE3uXi5OpM"),
        "PRE006",
        "FAIL",
        "random",
        "q7Jm",
    ),
    Mistake(
        "aws",
        "unknown type",
        set_to("nodes", "nodeType.instanceType", "p5.49xlarge"),
        "PRE007",
        "FAIL",
        "p5.49",
        "p5.49",
    ),
    Mistake(
        "aws",
        "other cloud's type",
        set_to("nodes", "nodeType.instanceType", "a3-megagpu-8g"),
        "PRE007",
        "FAIL",
        "a3",
        "a3",
    ),
    Mistake(
        "aws",
        "zone of another region",
        set_to("nodes", "availabilityZone", "us-west-2a"),
        "PRE009",
        "FAIL",
        "us-west",
        "us-w",
    ),
    Mistake(
        "azure", "zone with letters", set_to("nodes", "zone", "eastus-1"), "PRE009", "FAIL", "eastus-1", "eastus-1"
    ),
    Mistake(
        "aws",
        "zone nobody knows",
        set_everywhere("availabilityZone", "us-east-1z"),
        "PRE008",
        "FAIL",
        "has no zone 'us-east-1z'",
        "us-east-1z",
    ),
    Mistake(
        "gcp",
        "zone nobody knows",
        set_everywhere("zone", "us-central1-d"),
        "PRE008",
        "FAIL",
        "has no zone 'us-central1-d'",
        "us-central1-d",
    ),
    Mistake(
        "azure",
        "region without zones",
        set_everywhere("location", "northcentralus"),
        "PRE008",
        "FAIL",
        "has no availability zones",
        "zone",
    ),
    Mistake("gcp", "zone without region", set_to("nodes", "zone", "b"), "PRE009", "FAIL", "zone 'b'", "b"),
    Mistake(
        "aws", "33 interfaces", set_to("nodes", "nodeType.fabricInterfaces", 33), "PRE010", "FAIL", "says 33", "33"
    ),
    Mistake("aws", "16 cards", set_to("nodes", "nodeType.networkCards", "16"), "PRE010", "FAIL", "says 16", "16"),
    Mistake(
        "aws",
        "no EFA on card 0",
        set_to("nodes", "nodeType.cardZeroHasFabric", False),
        "PRE010",
        "FAIL",
        "false",
        "cardZero",
    ),
    Mistake("aws", "no fabric", set_to("nodes", "nodeType.fabric", "none"), "PRE010", "FAIL", "says none", "none"),
    Mistake("aws", "4 GPUs", set_to("nodes", "nodeType.gpusPerNode", 4), "PRE010", "FAIL", "says 4", "gpusPerNode"),
    Mistake(
        "aws",
        "too much memory",
        set_to("nodes", "nodeType.memoryMib", 3000000),
        "PRE010",
        "FAIL",
        "3,000,000",
        "memoryMib",
    ),
    Mistake("gcp", "7 networks", set_to("nodes", "nodeType.gpuNetworks", 7), "PRE010", "FAIL", "says 7", "gpuNetworks"),
    Mistake("gcp", "MTU 1460", set_to("nodes", "nodeType.mtu", 1460), "PRE010", "FAIL", "8244", "1460"),
    Mistake("gcp", "RDMA interfaces", set_to("nodes", "nodeType.nicType", "MRDMA"), "PRE010", "FAIL", "MRDMA", "MRDMA"),
    Mistake(
        "azure",
        "no InfiniBand",
        set_to("nodes", "nodeType.fabric", "none"),
        "PRE010",
        "FAIL",
        "infiniband",
        "fabric: none",
    ),
    Mistake(
        "azure",
        "RDMA range",
        set_to("foundation", "vnetAddressSpace", "172.16.0.0/14"),
        "PRE011",
        "FAIL",
        "RDMA",
        "172.16",
    ),
    Mistake(
        "aws", "Docker's range", set_to("foundation", "vpcCidr", "172.17.0.0/16"), "PRE011", "WARN", "Docker", "172.17"
    ),
    Mistake(
        "aws", "public range", set_to("foundation", "vpcCidr", "8.8.0.0/16"), "PRE011", "FAIL", "not a private", "8.8"
    ),
    Mistake(
        "aws", "host bits", set_to("foundation", "vpcCidr", "10.64.0.1/16"), "PRE011", "FAIL", "host bits", "10.64.0.1"
    ),
    Mistake(
        "aws", "nodes in words", set_to("nodes", "nodeCount", "many"), "PRE002", "FAIL", "not of type integer", "many"
    ),
    Mistake(
        "aws",
        "a list for a text",
        set_to("nodes", "capacity", ["spot"]),
        "PRE002",
        "FAIL",
        "of type string",
        "capacity",
    ),
    Mistake(
        "aws",
        "nobody's address",
        set_to("foundation", "alertEmail", "ml"),
        "PRE022",
        "FAIL",
        "'ml' is no address",
        "ml",
    ),
    Mistake(
        "gcp",
        "paths differ",
        lambda config: [config[layer].update(sharedPath=f"/{layer}") for layer in ("cluster", "nodes")],
        "PRE004",
        "WARN",
        "'/nodes' in nodes, but '/cluster'",
        "/nodes",
    ),
    Mistake(
        "aws",
        "database unprotected",
        set_to("cluster", "accountingDatabaseDeletionProtection", False),
        "PRE025",
        "WARN",
        "is false in cluster",
        "Protection",
    ),
    Mistake(
        "gcp",
        "two weeks of flex-start",
        lambda config: config["nodes"].update(capacity="flex-start", flexStartRunHours=336),
        "PRE031",
        "FAIL",
        "336 h",
        "336",
    ),
    Mistake("aws", "less than nothing", set_to("nodes", "nodeCount", "-1"), "PRE017", "FAIL", "is -1", "-1"),
    Mistake(
        "aws", "few addresses", set_to("foundation", "vpcCidr", "10.64.0.0/25"), "PRE032", "FAIL", "are needed", "/25"
    ),
    Mistake("gcp", "many nodes", set_to("nodes", "nodeCount", 1000), "PRE024", "FAIL", "1,000", ""),
    Mistake(
        "azure",
        "small network",
        set_to("foundation", "vnetAddressSpace", "10.40.0.0/24"),
        "PRE032",
        "FAIL",
        "are",
        "/24",
    ),
    Mistake(
        "aws",
        "more than planned",
        set_to("foundation", "nodeCount", 7),
        "PRE004",
        "FAIL",
        "8 in nodes, but 7 in foundation",
        "nodeCount",
    ),
    Mistake(
        "gcp",
        "region without the type",
        lambda config: [
            layer.update({"gcp:region": "me-central1", "zone": "me-central1-a"}) for layer in config.values()
        ],
        "PRE008",
        "FAIL",
        "no source lists a3-megagpu-8g",
        "me-central1",
    ),
    Mistake(
        "gcp",
        "zone without the type",
        lambda config: [layer.update({"zone": "us-central1-f"}) for layer in config.values()],
        "PRE008",
        "WARN",
        "us-central1-f",
        "us-central1-f",
    ),
    Mistake(
        "aws",
        "operators everywhere",
        set_to("cluster", "operatorCidrs", ["0.0.0.0/0"]),
        "PRE012",
        "FAIL",
        "0.0.0.0/0",
        "0.0.0.0/0",
    ),
    Mistake(
        "gcp",
        "IPv6 everywhere",
        set_to("cluster", "operatorCidrs", ["10.0.0.0/8", "::/0"]),
        "PRE012",
        "FAIL",
        "::/0",
        "::/0",
    ),
    Mistake(
        "aws",
        "existing without subnet",
        set_to("foundation", "existingNetwork", {"vpcId": "vpc-0123456789abcdef0"}),
        "PRE014",
        "FAIL",
        "node_subnet_id and service_subnet_ids missing",
        "vpcId",
    ),
    Mistake(
        "aws",
        "key of another region",
        set_to(
            "foundation",
            "existingNetwork",
            {"keyArn": "arn:aws:kms:us-west-2:123456789012:key/01234567-89ab-cdef-0123-456789abcdef"},
        ),
        "PRE014",
        "FAIL",
        "us-west-2",
        "keyArn",
    ),
    Mistake(
        "gcp",
        "not an id",
        set_to("foundation", "existingNetwork", {"network": "default"}),
        "PRE014",
        "FAIL",
        "'default'",
        "network: default",
    ),
    Mistake(
        "azure",
        "block of AWS",
        set_to("nodes", "capacity", "capacity-block"),
        "PRE015",
        "FAIL",
        "capacity blocks are an offer of AWS",
        "capacity:",
    ),
    Mistake(
        "aws",
        "reservation without id",
        set_to("nodes", "capacity", "reservation"),
        "PRE015",
        "FAIL",
        "no on-demand capacity reservation",
        "capacity:",
    ),
    Mistake(
        "aws",
        "id without reservation",
        set_to("nodes", "reservationId", "cr-0123456789abcdef0"),
        "PRE015",
        "FAIL",
        "on-demand",
        "cr-0",
    ),
    Mistake(
        "aws",
        "id of another kind",
        lambda config: config["nodes"].update(capacity="reservation", reservationId="crb-123"),
        "PRE015",
        "FAIL",
        "crb-123",
        "crb-123",
    ),
    Mistake(
        "gcp",
        "placement beside a reservation",
        lambda config: config["nodes"].update(capacity="reservation", reservationId="mine", placementMaxDistance=2),
        "PRE016",
        "FAIL",
        "placementMaxDistance",
        "placementMaxDistance",
    ),
    Mistake(
        "aws",
        "65 nodes of one block",
        lambda config: config["nodes"].update(
            capacity="capacity-block", reservationId="cr-0123456789abcdef0", nodeCount=65
        ),
        "PRE017",
        "FAIL",
        "one capacity block holds 64",
        "65",
    ),
    Mistake(
        "azure",
        "a reservation of ND",
        lambda config: config["nodes"].update(
            capacity="reservation", reservationId="/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/x"
        ),
        "PRE015",
        "FAIL",
        "cannot be had as reservation",
        "capacity:",
    ),
    Mistake(
        "azure", "301 nodes of a scale set", set_to("nodes", "nodeCount", 301), "PRE017", "FAIL", "holds 300", "301"
    ),
    Mistake(
        "azure",
        "256 nodes in scale sets of 100",
        set_to("nodes", "nodeCount", 256),
        "PRE017",
        "FAIL",
        "nodeType.maxNodesPerScaleSet is 100",
        "256",
    ),
    Mistake(
        "gcp",
        "flex-start for 257 nodes",
        lambda config: config["nodes"].update(capacity="flex-start", nodeCount=257),
        "PRE017",
        "FAIL",
        "flex-start request holds 256",
        "257",
    ),
    Mistake(
        "gcp", "nearest A3", set_to("nodes", "placementMaxDistance", 1), "PRE016", "FAIL", "2 to 3, not 1", "Distance"
    ),
    Mistake(
        "gcp", "flex-start for ever", set_to("nodes", "capacity", "flex-start"), "PRE031", "UNKNOWN", "7 days", "flex"
    ),
    Mistake(
        "gcp",
        "placement beside flex-start",
        lambda config: config["nodes"].update(capacity="flex-start", placementMaxDistance=2),
        "PRE016",
        "FAIL",
        "placementMaxDistance",
        "placementMaxDistance",
    ),
    Mistake(
        "aws", "1,300 GiB", set_to("foundation", "sharedStorage.capacityGib", 1300), "PRE018", "FAIL", "1,300", "1300"
    ),
    Mistake(
        "aws",
        "tier of 300",
        set_to("foundation", "sharedStorage.throughputMbPerSPerTib", 300),
        "PRE018",
        "FAIL",
        "300",
        "300",
    ),
    Mistake("aws", "EFA size", set_to("foundation", "sharedStorage.efaEnabled", True), "PRE018", "PASS", "96,000", ""),
    Mistake(
        "azure",
        "5 TiB",
        set_to("foundation", "sharedStorage.capacityTib", 5),
        "PRE018",
        "FAIL",
        "5 TiB",
        "capacityTib: 5",
    ),
    Mistake(
        "gcp", "9,001 GiB", set_to("foundation", "sharedStorage.capacityGib", 9001), "PRE018", "FAIL", "9,001", "9001"
    ),
    Mistake(
        "azure",
        "image for ARM",
        set_to("nodes", "nodeType.image", "microsoft-dsvm:ubuntu-hpc:2404-gb:24.04.1"),
        "PRE019",
        "FAIL",
        "x86_64",
        "2404-gb",
    ),
    Mistake(
        "azure",
        "image for AMD",
        set_to("nodes", "nodeType.image", "microsoft-dsvm:ubuntu-hpc:2404-rocm:24.04.1"),
        "PRE019",
        "FAIL",
        "for rocm",
        "rocm",
    ),
    Mistake("gcp", "no image", set_to("nodes", "nodeType.image", ""), "PRE019", "FAIL", "no image", "image"),
    Mistake(
        "azure",
        "latest image",
        set_to("nodes", "nodeType.image", "microsoft-dsvm:ubuntu-hpc:2404:latest"),
        "PRE020",
        "FAIL",
        "latest",
        "latest",
    ),
    Mistake(
        "aws",
        "latest parameter",
        set_to(
            "nodes",
            "nodeType.image",
            "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id",
        ),
        "PRE020",
        "WARN",
        "latest",
        "latest",
    ),
    Mistake(
        "gcp", "image family", set_to("nodes", "nodeType.image", "p/family/f"), "PRE020", "WARN", "family", "family"
    ),
    Mistake("aws", "no budget", without("foundation", "budgetUsdPerMonth"), "PRE022", "WARN", "no budget", ""),
    Mistake("aws", "nobody alerted", set_to("foundation", "alertEmail", ""), "PRE022", "WARN", "nobody", "alertEmail"),
    Mistake(
        "gcp",
        "no billing account",
        without("foundation", "billingAccount"),
        "PRE022",
        "WARN",
        "billing account",
        "budget",
    ),
    Mistake("aws", "no end", without("nodes", "timeToLiveHours"), "PRE023", "WARN", "forgotten", ""),
    Mistake(
        "aws", "small budget", set_to("foundation", "budgetUsdPerMonth", 300000), "PRE024", "FAIL", "300,000", "300000"
    ),
    Mistake(
        "gcp",
        "data unprotected",
        set_to("foundation", "protectData", "false"),
        "PRE025",
        "WARN",
        "protectData",
        "protectData",
    ),
    Mistake("aws", "no users", set_to("cluster", "users", []), "PRE043", "WARN", "the list of users is empty", "users"),
    Mistake(
        "aws",
        "a name that Linux does not take",
        set_to("cluster", "users", [{"name": "Alice B", "uid": 20001, "ssh_keys": []}]),
        "PRE043",
        "FAIL",
        "users[0].name: 'Alice B' cannot be the name of a user",
        "name",
    ),
    Mistake(
        "gcp",
        "a number twice",
        set_to("cluster", "users", [{"name": one, "uid": 20001, "ssh_keys": []} for one in ("alice", "bob")]),
        "PRE043",
        "FAIL",
        "users[1].uid: 20001 is the number of user alice (USR004)",
        "uid",
    ),
    Mistake(
        "azure",
        "a group that is not there",
        set_to("cluster", "users", [{"name": "bob", "uid": 20001, "groups": ["nowhere"], "ssh_keys": []}]),
        "PRE043",
        "FAIL",
        "users[0].groups[0]: there is no group 'nowhere' (USR005)",
        "nowhere",
    ),
    Mistake("gcp", "users left out", without("cluster", "users"), "PRE043", "WARN", "nobody but root", ""),
    Mistake(
        "azure",
        "nobody with a key",
        set_to("cluster", "users", [{"name": "alice", "uid": 20001, "ssh_keys": []}]),
        "PRE043",
        "WARN",
        "none of the 1 users has an SSH public key",
        "users",
    ),
)

_JOB = (
    "JOB_ENVIRONMENT=container\nCONTAINER_IMAGE=registry.example.com/team/megatron:1.0\nMODULES=''\n"
    "DATA_PATH=/shared/corpus\nTOKENIZER_MODEL=/shared/tokenizers/gpt2\n"
)
_NO_INTERNET = "JOB_INTERNET=no\nPUBLIC_REGISTRIES='docker.io'\n"


def _job(cloud: str, name: str, old: str, new: str, said: str, *, more: str = "") -> FileMistake:
    assert old in _JOB
    file = {"launch/job.env": _JOB.replace(old, new) + more}
    return FileMistake(cloud, name, file, "PRE045", "FAIL", said)


_IMAGE = "registry.example.com/team/megatron:1.0"
#: What a job's settings say that passes, and what does not.
SOUND_JOBS = (
    _JOB,
    _JOB + _NO_INTERNET,
    _JOB.replace(_IMAGE, "/shared/images/megatron.sqsh"),
    _JOB.replace(_IMAGE, "nvcr.io/nvidia/pytorch:26.04-py3"),
    _JOB.replace("container", "modules").replace(_IMAGE, "''").replace("MODULES=''", "MODULES='cuda/12.8,torch/2.8'"),
)
JOB_MISTAKES = (
    _job("aws", "data off the shared folder", "/shared/corpus", "/data/corpus", "DATA_PATH: '/data/corpus' is not on"),
    _job("gcp", "an image that moves", _IMAGE, "team/megatron:latest", "CONTAINER_IMAGE: 'team/megatron:latest'"),
    _job("azure", "another environment", "=container", "=venv", "CONTAINER_IMAGE: image belongs to environment"),
    _job("azure", "no environment", "=container", "=conda", "JOB_ENVIRONMENT: "),
    _job("aws", "no tokenizer", "/shared/tokenizers/gpt2", "''", "DATA_PATH: data is named without the tokenizer"),
    _job(
        "gcp", "a public registry", _IMAGE, "team/megatron:1", "public registry docker.io (JOB001)", more=_NO_INTERNET
    ),
    _job(
        "aws",
        "a name of the hub",
        "/shared/tokenizers/gpt2",
        "gpt2",
        "gpt2 is a name of Hugging Face (JOB002)",
        more=_NO_INTERNET,
    ),
)

FILE_MISTAKES = (
    *JOB_MISTAKES,
    FileMistake("aws", "no cluster.sh", {"cluster.sh": None}, "PRE001", "FAIL", "cluster.sh"),
    FileMistake(
        "aws", "no stack of nodes", {f"nodes/Pulumi.{STACK}.yaml": None}, "PRE001", "FAIL", f"nodes/Pulumi.{STACK}.yaml"
    ),
    FileMistake(
        "aws", "key in a script", {"cloud.sh": "export X=AKIAIOSFODNN7EXAMPLE\n"}, "PRE006", "FAIL", "access key"
    ),
    FileMistake(
        "gcp", "key file", {"key.json": '{"private_key_id": "' + "0a" * 20 + '"}'}, "PRE006", "FAIL", "service account"
    ),
    FileMistake(
        "aws",
        "public address",
        {"gpu_cluster/nodes.py": 'Nic(associate_public_ip_address="true")\n'},
        "PRE021",
        "FAIL",
        "public address",
    ),
    FileMistake(
        "aws",
        "old metadata",
        {"gpu_cluster/nodes.py": 'Meta(http_tokens="optional")\n'},
        "PRE021",
        "FAIL",
        "http_tokens",
    ),
    FileMistake(
        "gcp", "access config", {"nodes/__main__.py": "Nic(access_configs=[{}])\n"}, "PRE021", "FAIL", "public address"
    ),
    FileMistake(
        "gcp",
        "open firewall",
        {"gpu_cluster/nodes.py": 'Firewall(source_ranges=["0.0.0.0/0"])\n'},
        "PRE021",
        "FAIL",
        "everybody",
    ),
    FileMistake(
        "aws",
        "open group",
        {"gpu_cluster/n.py": 'SecurityGroupIngressRule("x", cidr_ipv4="0.0.0.0/0")\n'},
        "PRE021",
        "FAIL",
        "everybody",
    ),
    FileMistake(
        "azure",
        "public storage",
        {"gpu_cluster/n.py": "Account(allow_blob_public_access=True)\n"},
        "PRE021",
        "FAIL",
        "blobs",
    ),
    FileMistake(
        "aws",
        "pack without rules",
        {"policy/__main__.py": "from rules import RULES\n"},
        "PRE026",
        "FAIL",
        "no rules",
    ),
    FileMistake("aws", "no valid Python", {"nodes/__main__.py": "x = (\n"}, "PRE035", "FAIL", "not valid Python"),
    FileMistake(
        "aws", "module gone", {"nodes/__main__.py": "from gpu_cluster.gone import X\n"}, "PRE035", "FAIL", "gone"
    ),
    FileMistake(
        "aws",
        "name gone",
        {"nodes/__main__.py": "from gpu_cluster.security import PORTS, Gone\n"},
        "PRE035",
        "FAIL",
        "imports gpu_cluster.security.Gone",
    ),
    FileMistake(
        "gcp", "undeletable", {"gpu_cluster/k.py": "Cluster(deletion_protection=True)\n"}, "PRE025", "FAIL", "for good"
    ),
    FileMistake(
        "aws", "forced", {"gpu_cluster/bucket.py": "Bucket(force_destroy=True)\n"}, "PRE025", "FAIL", "force_destroy"
    ),
    FileMistake("aws", "no pack", {"policy/PulumiPolicy.yaml": None}, "PRE026", "FAIL", "policy pack"),
    FileMistake("aws", "pack not pinned", {"policy/requirements.txt": "pulumi-policy>=1\n"}, "PRE026", "WARN", "pin"),
    FileMistake(
        "aws",
        "pack not run",
        {"cluster.sh": "pulumi up\n", ".github/workflows/infrastructure.yml": "permissions: {}\njobs: {}\n"},
        "PRE026",
        "FAIL",
        "neither",
    ),
    FileMistake(
        "aws",
        "stored credentials",
        {".github/workflows/infrastructure.yml": "permissions: {}\nenv:\n  K: ${{ secrets.AWS_SECRET_ACCESS_KEY }}\n"},
        "PRE027",
        "FAIL",
        "AWS_SECRET_ACCESS_KEY",
    ),
    FileMistake(
        "aws",
        "may write all",
        {".github/workflows/infrastructure.yml": "permissions: write-all\n"},
        "PRE027",
        "FAIL",
        "write everything",
    ),
    FileMistake(
        "aws", "no permissions", {".github/workflows/infrastructure.yml": "jobs: {}\n"}, "PRE027", "WARN", "permissions"
    ),
    FileMistake(
        "aws",
        "state on one machine",
        {
            f"{layer}/Pulumi.yaml": f"name: aws-gpu-{layer}\nbackend:\n  url: file://~\n"
            for layer in ("foundation", "cluster", "nodes")
        },
        "PRE028",
        "WARN",
        "one machine",
    ),
    FileMistake(
        "aws",
        "states in two places",
        {"nodes/Pulumi.yaml": "name: aws-gpu-nodes\nbackend:\n  url: file://~\n"},
        "PRE028",
        "FAIL",
        "several places",
    ),
    FileMistake(
        "aws",
        "state in a folder that is emptied",
        {"nodes/Pulumi.yaml": "name: aws-gpu-nodes\nbackend:\n  url: file:///tmp/state\n"},
        "PRE028",
        "FAIL",
        "is emptied",
    ),
)
