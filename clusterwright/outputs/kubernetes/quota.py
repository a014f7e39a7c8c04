"""The quota of a queue on Kubernetes: what the pods of a job ask for, on all nodes."""

import io
import re

from ruamel.yaml import YAML

_QUANTITY = re.compile(r"([0-9]+)([A-Za-z]*)")


def with_quota(queue: str, job: str, nodes: int) -> str:
    """Return the queue with a quota of every resource that the job's pods ask for, on all nodes.

    Kueue admits no job that asks for a resource which its queue does not cover.

    Args:
        queue: manifest of the example queue.
        job: manifest of a job that asks for one whole node.
        nodes: of the cluster.
    """
    yaml = YAML()
    yaml.width = 120
    jobs = [one for one in YAML(typ="safe").load_all(job) if one and one["kind"] == "Job"]
    asked = jobs[0]["spec"]["template"]["spec"]["containers"][0]["resources"]
    resources = {**asked["limits"], **asked["requests"]}
    documents = [one for one in yaml.load_all(queue) if one is not None]
    group = next(one for one in documents if one["kind"] == "ClusterQueue")["spec"]["resourceGroups"][0]
    group["coveredResources"] = list(resources)
    group["flavors"][0]["resources"] = [
        {"name": name, "nominalQuota": _times(str(amount), nodes)} for name, amount in resources.items()
    ]
    stream = io.StringIO()
    yaml.dump_all(documents, stream)
    body = "\n".join(line for line in stream.getvalue().splitlines() if not line.startswith("#"))
    return (
        "# A queue that admits a job only when all of its nodes are free:\n"
        "#   ./cluster.sh kubectl apply -f examples/queue.yaml\n"
        f"# Its quota is what jobs can ask for on {nodes:,} nodes; for another number of them, change it.\n{body}"
    )


def _times(quantity: str, count: int) -> int | str:
    """Return a multiple of a quantity of Kubernetes.

    >>> _times("1800Gi", 4), _times("8", 4)
    ('7200Gi', 32)
    """
    found = _QUANTITY.fullmatch(quantity)
    if found is None:
        raise ValueError(f"{quantity!r} is not a whole quantity")
    number, unit = int(found[1]) * count, found[2]
    return f"{number}{unit}" if unit else number
