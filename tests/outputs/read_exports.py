"""Run in the environment of the other tools: reads exports as AWS ParallelCluster and SkyPilot do.

Standard input: a JSON list of [tool, YAML text]; standard output: a JSON list of what is wrong, empty text for nothing.
"""

import json
import os
import sys

import yaml

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")


def parallelcluster(document: object) -> str:
    """Load a configuration with ParallelCluster's own schema."""
    from marshmallow import ValidationError  # noqa: PLC0415 - each tool alone is slow to load
    from pcluster.schemas.cluster_schema import ClusterSchema  # noqa: PLC0415 - each tool alone is slow to load

    try:
        ClusterSchema(cluster_name="trial").load(document)
    except ValidationError as error:
        return str(error)
    return ""


def skypilot(document: object) -> str:
    """Hold a task and its resources against SkyPilot's own schemas."""
    import jsonschema  # noqa: PLC0415 - each tool alone is slow to load
    from sky.utils import schemas  # noqa: PLC0415 - each tool alone is slow to load

    assert isinstance(document, dict)
    try:
        jsonschema.validate(document, schemas.get_task_schema())
        jsonschema.validate(document["resources"], schemas.get_resources_schema())
    except jsonschema.ValidationError as error:
        return error.message
    return ""


READERS = {"parallelcluster": parallelcluster, "skypilot": skypilot}
if __name__ == "__main__":
    json.dump([READERS[tool](yaml.safe_load(text)) for tool, text in json.load(sys.stdin)], sys.stdout)
