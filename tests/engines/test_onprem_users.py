"""Users on premises: the commands of `users.md`, as the folder has them, on machines made of namespaces."""

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.onprem.slurm.jobs import LIST_PATH, job_documents, user_documents

from .first_job.machines import Machine, Site, namespaces_work

pytestmark = pytest.mark.engine

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl alice@example.com"
ALICE = f"{{name: alice, uid: 20001, groups: [research], ssh_keys: ['{KEY}']}}"
EVE = "{name: eve, uid: 20003, ssh_keys: [], administrator: true}"
VALUES = ["cluster.groups=[{name: research, gid: 20100}]", f"cluster.users=[{ALICE}, {EVE}]"]
ROLES = {"mgmt-001": "controller", "mgmt-003": "login", "node001": "compute"}


def _commands(page: str) -> tuple[str, str]:
    """Return what the page says to do once, and what on every machine."""
    once, everywhere = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].split("# As root on every machine", 1)  # type: ignore[index]
    return once, f"#{everywhere}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the plan, as far as users concern it."""
    plan = plan_of(GPT3, VALUES, "onprem")
    written = tmp_path_factory.mktemp("folder")
    for name, file in (job_documents(plan, plan.options[0], load()) | user_documents(plan)).items():
        (written / name).parent.mkdir(exist_ok=True)
        (written / name).write_bytes(file.content)
    return written


@pytest.fixture(scope="module")
def machines(folder: Path, require_engine: Callable[..., None]) -> Iterator[dict[str, Machine]]:
    """Return a controller, a login machine and a node, on which an administrator did what the page says."""
    require_engine("unshare", "nsenter", "ip", "setpriv", "runuser", "useradd")
    require_engine(working=namespaces_work(), reason="needs root and Linux namespaces with a bridge")
    with tempfile.TemporaryDirectory(prefix="site-") as name:
        place = Path(name)
        place.chmod(0o755)
        for part in ("shared", "site", "files"):
            (place / part).mkdir()
        (place / "shared").chmod(0o1777)
        (place / "files" / "etc").mkdir()
        subprocess.run(["cp", "--recursive", str(folder), str(place / "site" / "folder")], check=True)
        site = Site(folder=place, hosts={}, machines={})
        once, everywhere = _commands((folder / "users.md").read_text())
        try:
            for number, (host, role) in enumerate(ROLES.items(), start=1):
                machine = site.start(host, f"10.41.0.{number}", {})
                machine.text("sh", "-c", "mkdir -p /shared && mount --bind /srv/shared /shared")
                if number == 1:
                    machine.text("sh", "-e", "-c", f"cd /srv/site/folder; {once}")
                machine.text(
                    "sh", "-e", "-c", f"cd /srv/site/folder; {everywhere.replace('ROLE=compute', f'ROLE={role}')}"
                )
            yield site.machines
        finally:
            site.end()


def again(machine: Machine) -> subprocess.CompletedProcess[str]:
    """Run what the timer runs, without its half hour of patience."""
    return machine.run("sh", "-c", "echo CLUSTER_WAIT_S=1 >>/etc/gpu-cluster/node.env; bash /opt/gpu-cluster/users.sh")


def test_users_of_the_blueprint_are_the_same_on_every_machine(machines: dict[str, Machine]) -> None:
    """Numbers, groups and the shared home are those of the list, wherever somebody looks."""
    for machine in machines.values():
        assert machine.text("id", "--user", "alice") == "20001\n"
        assert sorted(machine.text("id", "--name", "--groups", "alice").split()) == [
            "alice",
            "cluster-users",
            "research",
        ]
        assert machine.text("getent", "passwd", "alice") == "alice:x:20001:20001::/shared/home/alice:/bin/bash\n"
        assert machine.text("cat", "/etc/ssh/gpu-cluster/alice") == f"{KEY}\n"
    machines["mgmt-003"].text("touch result", user="alice")
    assert machines["node001"].text("stat", "--format=%U %G", "/shared/home/alice/result") == "alice alice\n"


def test_only_administrators_have_sudo_and_not_on_nodes(machines: dict[str, Machine]) -> None:
    """The rule of sudo stands on controllers and login machines, for the administrator of the blueprint."""
    here = {host: machine.run("cat", "/etc/sudoers.d/gpu-cluster").stdout for host, machine in machines.items()}
    rule = "%cluster-admins ALL=(ALL) NOPASSWD:ALL\n"
    assert here == {"mgmt-001": rule, "mgmt-003": rule, "node001": ""}
    assert machines["mgmt-003"].text("getent", "group", "cluster-admins").rstrip().endswith(":eve")
    for host, machine in machines.items():
        config = machine.text("cat", "/etc/ssh/sshd_config.d/10-gpu-cluster.conf")
        assert ("DenyGroups cluster-users" in config) == (host != "mgmt-003")


def test_a_machine_without_the_shared_file_system_makes_nobody(machines: dict[str, Machine]) -> None:
    """Homes are never made below a mount point on which nothing is mounted; the script says what is missing."""
    node = machines["node001"]
    node.text("umount", "/shared")
    node.text("userdel", "alice")
    refused = again(node)
    node.text("mount", "--bind", "/srv/shared", "/shared")
    assert refused.returncode == 1
    assert f"no list of users in {LIST_PATH}" in refused.stderr
    assert again(node).returncode == 0
    assert node.text("id", "--user", "alice") == "20001\n"


@pytest.mark.parametrize(
    ("spoil", "repair", "named"),
    [
        (f"chmod 0666 {LIST_PATH}", f"chmod 0644 {LIST_PATH}", LIST_PATH),
        (f"chown alice {LIST_PATH}", f"chown root {LIST_PATH}", LIST_PATH),
        ("chmod 0777 /shared/.gpu-cluster", "chmod 0755 /shared/.gpu-cluster", "/shared/.gpu-cluster"),
    ],
)
def test_a_list_that_others_can_write_is_refused(
    machines: dict[str, Machine], spoil: str, repair: str, named: str
) -> None:
    """Who could write the list would become root: no machine applies one that is not root's alone."""
    login = machines["mgmt-003"]
    login.text("sh", "-c", spoil)
    refused = again(login)
    login.text("sh", "-c", repair)
    assert refused.returncode == 3
    assert f"{named} has to belong to root" in refused.stderr
    assert again(login).returncode == 0
