"""Build the sdist, from it the wheel, install that into a new environment, and run the main job from another folder.

Run as a program (`make check`): it needs the package registry, which tests do not.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("blueprints", "catalog", "pricing", "stacks", "tco", "templates")
DELIVERABLES = (
    "plan.json",
    "README.md",
    "aws/foundation/Pulumi.yaml",
    "azure/cluster/Pulumi.yaml",
    "gcp/nodes/Pulumi.yaml",
    "aws/node/bootstrap.sh",
    "aws/cluster.sh",
    "aws/.github/workflows/infrastructure.yml",
    "onprem/bill_of_materials.csv",
    "onprem/bill_of_materials.xlsx",
    "onprem/racks.svg",
    "onprem/cables.csv",
    "onprem/slurm.conf",
    "onprem/gres.conf",
    "onprem/topology.conf",
    "onprem/cgroup.conf",
    "tco/report.html",
    "tco/tco.xlsx",
)


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command; on failure show what it printed and stop."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wanted_assets() -> set[str]:
    """Return the files that git tracks in the bundled folders, and the pages of the documentation."""
    tracked = run("git", "ls-files", *FOLDERS, "docs/*.md", "docs/*.csv", cwd=ROOT).split("\n")
    return {name for name in tracked if name}


def main() -> None:
    """Build, compare, install, run."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        # `build` without a flavour makes the sdist and then the wheel from it.
        run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT, cwd=place)
        wheel = next((place / "dist").glob("*.whl"))
        bundled = {
            name.removeprefix("clusterwright/_assets/")
            for name in zipfile.ZipFile(wheel).namelist()
            if name.startswith("clusterwright/_assets/")
        }
        missing, extra = wanted_assets() - bundled, bundled - wanted_assets()
        if missing or extra:
            sys.exit(f"the wheel's data folders differ from git: missing {sorted(missing)}, extra {sorted(extra)}")
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        install = (python, "-m", "pip", "install", "-q", "--no-compile")
        run(*install, "--require-hashes", "-r", ROOT / "constraints.txt", cwd=place)
        run(*install, "--no-deps", wheel, cwd=place)
        # What users get beside it is all that it asks for.
        run(python, "-m", "pip", "check", cwd=place)
        elsewhere = place / "elsewhere"
        elsewhere.mkdir()
        blueprint = elsewhere / "train-gpt3-175b.yaml"
        blueprint.write_text((ROOT / "blueprints" / blueprint.name).read_text())
        run(place / "env" / "bin" / "clusterwright", "build", blueprint.name, "-o", "out", cwd=elsewhere)
        title = (ROOT / "docs" / "explain" / "money.md").read_text().partition("\n")[0]
        for topic in ("money", "docs/explain/money.md", "docs/tco.md"):  # the last one is a name that it had
            if not run(place / "env" / "bin" / "clusterwright", "docs", topic, cwd=elsewhere).startswith(title):
                sys.exit(f"the installed wheel does not show {topic}")
        absent = [name for name in DELIVERABLES if not (elsewhere / "out" / name).is_file()]
        if absent:
            sys.exit(f"the installed wheel did not write {', '.join(absent)}")
    print(f"wheel: {len(bundled)} data files as in git; the main job ran from another folder")  # noqa: T201


if __name__ == "__main__":
    main()
