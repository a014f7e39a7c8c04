"""What machines on premises need for jobs: the clouds' versions and script, and settings that the script accepts."""

import csv
import re
import subprocess
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files
from clusterwright.outputs.onprem.slurm.jobs import DIRECTORY_PATH, LIST_PATH, PASSWORD_PATH, job_documents

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
#: What a rack-scale system asks of the building.
ROOM = {"gb200-nvl72": ("site.rack_power=160 kW",)}
SOFTWARE = assets.root() / "templates" / "node" / "software.csv"


def documents(*values: str) -> dict[str, str]:
    """Return the documents of the shipped plan with these values, by name."""
    plan = plan_of(GPT3, list(values), "onprem")
    files = job_documents(plan, plan.options[0], load())
    return {name: file.content.decode() for name, file in files.items()}


def test_containers_come_as_on_the_clouds_nodes() -> None:
    """Versions and commits are those of the clouds' table, which the folder holds, and plugstack.conf names Pyxis."""
    found = documents()
    assert found["node/software.csv"] == SOFTWARE.read_text()
    with SOFTWARE.open(newline="") as lines:
        known = {row["name"]: row for row in csv.DictReader(lines)}
    for name in ("enroot", "pyxis"):
        assert known[name]["version"] in found["jobs.md"]
        assert known[name]["reference"][:12] in found["jobs.md"]
    settings = [line for line in found["plugstack.conf"].splitlines() if not line.startswith("#")]
    assert settings == ["optional /usr/local/lib/slurm/spank_pyxis.so"]


@pytest.mark.parametrize("system", ["dgx-h100", "hgx-h100-8gpu", "gb200-nvl72"])
@pytest.mark.parametrize("role", ["compute", "login", "controller"])
def test_the_script_accepts_its_settings(tmp_path: Path, system: str, role: str) -> None:
    """Every check of the nodes' scripts passes on node.env, in each role; nothing is installed to see it."""
    found = documents(f"targets.onprem.system={system}", *ROOM.get(system, ()))
    (tmp_path / "node").mkdir()
    for name, content in found.items():
        (tmp_path / name).write_text(content)
    shown = subprocess.run(
        ["bash", "-c", '. node/environment.sh && echo "$CLUSTER_ROLE $CLUSTER_JOB_ENVIRONMENT $CLUSTER_GPUS_PER_NODE"'],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "CLUSTER_NODE_ENV": str(tmp_path / "node" / "node.env"), "CLUSTER_ROLE": role},
    )
    gpus = 4 if system == "gb200-nvl72" else 8
    assert (shown.returncode, shown.stdout) == (0, f"{role} container {gpus}\n"), shown.stderr
    for name in ("job_environment.sh", "packages.sh"):
        subprocess.run(["bash", "-n", str(tmp_path / "node" / name)], check=True)


def test_other_environments_need_no_containers() -> None:
    """A virtual environment or modules: what to install for them, and nothing of Enroot."""
    for values, said in (
        (["cluster.jobs.environment=venv", "cluster.jobs.venv=/shared/venvs/megatron"], "(/shared/venvs/megatron)"),
        (["cluster.jobs.environment=modules", "cluster.jobs.modules=[cuda/12.8, torch/2.8]"], "cuda/12.8, torch/2.8."),
    ):
        found = documents(*values)
        assert {name for name in found if not name.startswith("node/")} == {"jobs.md"}
        assert "CLUSTER_NODE_ENV=$PWD/node/node.env bash node/job_environment.sh" in found["jobs.md"]
        assert said in found["jobs.md"]
        assert "Enroot" not in found["jobs.md"]


#: Ways to install a package that look into no table of versions.
_UNPINNED = re.compile(r"\b(apt|apt-get|snap|dnf|yum|pip|pip3) +(?:-\S+ +)*install\b")


@pytest.mark.parametrize("environment", ["container", "venv", "modules"])
def test_no_command_installs_past_the_table(environment: str) -> None:
    """What the pages have a person install goes by the scripts that read `node/software.csv`, as in the clouds."""
    plan = plan_of(GPT3, [f"cluster.jobs.environment={environment}"], "onprem")
    pages = onprem_files(plan, plan.options[0], load())
    for name, file in pages.items():
        if name.endswith(".md"):
            assert _UNPINNED.findall(file.content.decode()) == [], name


@pytest.mark.parametrize("pinned", [True, False])
def test_packages_of_the_page_come_in_the_version_of_the_table(tmp_path: Path, *, pinned: bool) -> None:
    """By the page's own command: a row's version is asked for, and without one what was found is said as a row."""
    (tmp_path / "node").mkdir()
    for name, content in documents().items():
        (tmp_path / name).write_text(content)
    row = "slurmdbd,23.11.4-1.2ubuntu5,apt,,2026-11-23,found at boot\n"
    page = (tmp_path / "jobs.md").read_text()
    assert row.rstrip() in page
    if pinned:
        with (tmp_path / "node" / "software.csv").open("a") as table:
            table.write(row)
    (line,) = (line for line in page.splitlines() if "install_missing" in line)
    (tmp_path / "bin").mkdir()
    programs = {
        "apt-get": f'echo "$*" >>{tmp_path}/calls; case "$*" in *" install "*) touch {tmp_path}/there ;; esac',
        "dpkg-query": f'[ -e {tmp_path}/there ] && echo "installed 23.11.4-1.2ubuntu5"',
    }
    for name, body in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    installed = (tmp_path / "calls").read_text().splitlines()[-1].split()
    version = "=23.11.4-1.2ubuntu5" if pinned else ""
    assert installed[-2:] == ["mariadb-server", f"slurmdbd{version}"]
    said = "not pinned in node/software.csv: slurmdbd,23.11.4-1.2ubuntu5,apt,,"
    assert (said in done.stderr) is not pinned


def test_users_come_with_every_environment() -> None:
    """The list, its scripts and their settings do not depend on what jobs run in."""
    plan = plan_of(
        GPT3, ["cluster.jobs.environment=venv", "cluster.users=[{name: ada, uid: 20001, ssh_keys: []}]"], "onprem"
    )
    written = onprem_files(plan, plan.options[0], load())
    found = {name: file.content.decode() for name, file in written.items() if name.startswith("node/")}
    assert found["node/users.list"] == "user ada 20001 no\n"
    assert f"CLUSTER_USERS_ID={LIST_PATH}\n" in found["node/node.env"]
    sourced = {name for script in found.values() for name in re.findall(r'\. "\$here/([a-z_]+\.sh)"', script)}
    assert {f"node/{name}" for name in sourced} <= found.keys()


def test_a_directory_comes_with_its_settings_and_scripts() -> None:
    """The settings have no password, the page says where it goes; without a directory there is no word of one."""
    named = "{uris: [ldaps://ldap1], base: dc=site, bind_dn: cn=c, allowed_groups: [hpc-users]}"
    found = {}
    for values in ([f"cluster.directory={named}"], []):
        plan = plan_of(GPT3, values, "onprem")
        written = onprem_files(plan, plan.options[0], load())
        found[bool(values)] = {
            name: file.content.decode() for name, file in written.items() if name.startswith("node/")
        }
        page = written["users.md"].content.decode()
        assert (PASSWORD_PATH in page) == ("## Users of the directory" in page) == bool(values)
    joined, plain = found[True], found[False]
    assert joined["node/directory.conf"].splitlines()[:2] == ["uri ldaps://ldap1", "base dc=site"]
    assert (
        f"CLUSTER_DIRECTORY_ID={DIRECTORY_PATH}\nCLUSTER_DIRECTORY_PASSWORD_ID={PASSWORD_PATH}\n"
        in joined["node/node.env"]
    )
    called = {
        name for script in joined.values() for name in re.findall(r'"\$here/(users_directory[a-z_]*\.sh)"', script)
    }
    assert {f"node/{name}" for name in called} <= joined.keys()
    assert not [name for name in plain if "directory" in name]
    assert "DIRECTORY" not in plain["node/node.env"]


def test_adapters_are_named_or_looked_for() -> None:
    """A system whose vendor's document names them gets the names with the source; others what the nodes look for."""
    named = documents()["jobs.md"]
    assert "`NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11`" in named
    assert "DGX H100/H200 user guide" in named
    looked = documents("targets.onprem.system=hgx-h100-8gpu")["jobs.md"]
    assert "each node looks for 8 active InfiniBand ports of 400 Gb/s, and stops" in looked


def test_the_folder_holds_them() -> None:
    """Beside Slurm's files, and named in the folder's README."""
    plan = plan_of(GPT3, None, "onprem")
    files = onprem_files(plan, plan.options[0], load())
    assert {"jobs.md", "plugstack.conf", "node/node.env", "launch/submit.sh", "slurm.conf"} <= set(files)
    assert b"`jobs.md`, `launch/`" in files["README.md"].content


def test_a_pinned_container_toolkit_is_what_nodes_install() -> None:
    """The version that the blueprint pins is in the table of the folder and on its page, and nothing else differs."""
    shipped, found = documents(), documents("software.pin.nvidia-container-toolkit=1.18.2")
    assert found["node/software.csv"] == shipped["node/software.csv"].replace(
        "nvidia-container-toolkit,1.17.8-1,", "nvidia-container-toolkit,1.18.2-1,"
    )
    assert "nvidia-container-toolkit,1.18.2-1," in found["node/software.csv"]
    assert {name for name in found if found[name] != shipped[name]} <= {"node/software.csv", "jobs.md"}
