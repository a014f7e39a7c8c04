"""Write a complete example project, so that the stacks' own tests, type check and style check can run on it.

    python -m clusterwright.outputs.project.example aws slurm FOLDER

Each layer's `Pulumi.example.yaml` becomes `Pulumi.small.yaml` (and stays in `tests/example/`, as in every project):
nothing depends on how a plan sizes and prices.
"""

import argparse
from pathlib import Path

from clusterwright.blueprint.rules.hardware import CLOUDS
from clusterwright.outputs.folder import File
from clusterwright.outputs.project.files import SCHEDULERS, kept_example, project_files

STACK = "small"


def example_files(cloud: str, scheduler: str) -> dict[str, File]:
    """Return the files of a cloud's example project, by path within it."""
    files = project_files(cloud, scheduler)
    stacks = {
        path.replace("example", STACK): file for path, file in files.items() if path.endswith("/Pulumi.example.yaml")
    }
    return {kept_example(path): file for path, file in files.items()} | stacks


def write_example(cloud: str, scheduler: str, folder: Path) -> None:
    """Write a cloud's example project into a folder, over what is there."""
    for path, file in example_files(cloud, scheduler).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(0o755 if file.executable else 0o644)


def main() -> None:
    """Read the command line and write the project."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cloud", choices=CLOUDS)
    parser.add_argument("scheduler", choices=SCHEDULERS)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    write_example(arguments.cloud, arguments.scheduler, arguments.folder)


if __name__ == "__main__":
    main()
