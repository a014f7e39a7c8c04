"""Machines that boot in a trial: in order nothing is wrong, and each thing that a script leaves out is named."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from clusterwright.checks.preflight.trials import booting
from clusterwright.checks.preflight.trials.boot_rules import minutes, problems, sockets, starts
from clusterwright.checks.preflight.trials.booting import FAULTS, Boots, Node, boots

SCRIPTS = Path(__file__).parents[3] / "templates" / "node"
NODES = {
    "aws": Node(cloud="aws", gpus=8, gpu_type="h100", fabric="efa", interfaces=32),
    "azure": Node(cloud="azure", gpus=8, gpu_type="mi300x", fabric="infiniband", interfaces=8, device="dri/renderD"),
    "gcp": Node(cloud="gcp", gpus=8, gpu_type="h100", fabric="tcpx", interfaces=4),
}
Changes = tuple[tuple[str, str, str], ...]


@cache
def booted(cloud: str, changes: Changes = ()) -> Boots:
    """Return what machines of a cloud do with scripts changed: file, what is there, and what comes in its place."""
    files = {path.name: path.read_text() for path in SCRIPTS.iterdir() if path.suffix in (".sh", ".csv")}
    for name, old, new in changes:
        assert files[name].count(old) == 1, f"{name}: {old}"
        files[name] = files[name].replace(old, new)
    found = boots(frozenset(files.items()), NODES[cloud])
    assert found is not None
    return found


def wrong(cloud: str, changes: Changes = (), *, nodes: int = 48, longest: str = "UNLIMITED") -> str:
    """Return everything that is wrong with machines of all roles, a line each."""
    found = booted(cloud, changes)
    return "\n".join(
        f"{role}: {one.message}"
        for role, ran in found.roles.items()
        for one in problems(role, ran, NODES[cloud], nodes, longest)
    )


@pytest.mark.parametrize("cloud", NODES)
def test_nothing_is_wrong_with_the_scripts_as_they_are(cloud: str) -> None:
    """Every role boots; a node with a fault starts no slurmd and says so; a broken fabric drains the node."""
    found = booted(cloud)
    assert {role: ran.status for role, ran in found.roles.items()} == {"compute": 0, "controller": 0, "login": 0}
    assert wrong(cloud) == ""
    assert set(found.faulty) == set(FAULTS) - (set() if cloud == "gcp" else {"transport"})
    assert {fault for fault, ran in found.faulty.items() if ran.status == 0 or starts(ran, "slurmd")} == set()
    assert found.health is not None
    assert any("drain" in str(call) for call in found.health.of("scontrol"))
    assert len(found.served) == (1 if cloud == "gcp" else 0)
    assert [one for ran in found.served for one in sockets(ran)] == []


CARELESS: Changes = (
    ("auth_key.sh", '--mode=0400 "$new_key"', '--mode=0444 "$new_key"'),
    ("accounting.sh", "slurmdbd.conf 0600", "slurmdbd.conf 0640"),
    ("accounting.sh", "StorageParameters=SSL_CA=$certificate\n", ""),
    ("users.sh", "<<<'%cluster-admins ALL=(ALL) NOPASSWD:ALL'", "<<<'%cluster-users ALL=(ALL) NOPASSWD:ALL'"),
    ("users.sh", "PasswordAuthentication no", "PasswordAuthentication yes"),
    ("users.sh", "denied='DenyGroups cluster-users'", "denied=''"),
    ("install_packages.sh", '"0";', '"1";'),
    ("shared_storage.sh", "noatime,flock", "noatime,ro"),
    ("scratch.sh", ' && ! blkid "$disk" >/dev/null', ""),
    ("metadata.sh", "meta skuid != 0", "meta skuid 0"),
    ("slurm_conf.sh", "MaxNodeCount=16384", "MaxNodeCount=48"),
    ("slurm_conf.sh", "MaxTime=INFINITE State=UP", "MaxTime=7-00:00:00 State=DRAIN"),
    (
        "slurm_conf.sh",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageType=accounting_storage/none",
    ),
    ("slurm_conf.sh", "Prolog=$scripts/prolog.sh", "Prolog=/etc/slurm/prolog.sh"),
    ("compute.sh", "Gres=gpu:$CLUSTER_GPU_TYPE:$CLUSTER_GPUS_PER_NODE", "Gres=gpu:$CLUSTER_GPU_TYPE:4"),
    ("secret_aws.sh", "write) manager put-secret-value", "write) tee /tmp/key | manager put-secret-value"),
)


@pytest.mark.parametrize(
    "said",
    [
        "into /etc/munge/munge.key, mode 0444",
        "into /etc/slurm/slurmdbd.conf, mode 0640",
        "without checking its certificate",
        "makes every user root: %cluster-users",
        "lets passwords in",
        "compute: lets every user log in to nodes",
        "is upgraded in the background",
        "mounts Lustre without flock",
        "mounts Lustre read-only",
        "formats /dev/nvme3n1",
        "lets every user reach 169.254.169.254",
        "keeps root from 169.254.169.254",
        "MaxNodeCount is 48, and the cluster has 48",
        "ends jobs after 7-00:00:00, and the job asks for UNLIMITED",
        "the partition has State=DRAIN",
        "keeps no history",
        "prolog is /etc/slurm/prolog.sh, which is not on the machine",
        "tells Slurm of gpu:h100:4 instead of gpu:h100:8",
    ],
)
def test_each_thing_that_is_wrong_is_named(said: str) -> None:
    """Of scripts with many mistakes, each is found by what the machine has, did or says."""
    assert said in wrong("aws", CARELESS)


@pytest.mark.parametrize(("nodes", "fix"), [(16_383, None), (16_384, "run fewer than 16,384 nodes")])
def test_no_number_of_places_is_advised_that_is_there(nodes: int, fix: str | None) -> None:
    """A cluster of more nodes than the written slurm.conf has places for is told so, and not to write it again."""
    ran = booted("aws").roles["controller"]
    found = problems("controller", ran, NODES["aws"], nodes, "UNLIMITED")
    assert [one.fix for one in found if one.about == "MaxNodeCount"] == ([fix] if fix else [])


LENIENT: Changes = (
    ("bootstrap.sh", 'bash "$here/metadata.sh"\n', 'bash "$here/metadata.sh" || :\n'),
    (
        "bootstrap.sh",
        'then bash "$here/install_packages.sh"; fi',
        'then bash "$here/install_packages.sh" || say later; fi',
    ),
    ("bootstrap.sh", 'bash "$here/shared_storage.sh"\n', 'bash "$here/shared_storage.sh" || true\n'),
    ("bootstrap.sh", 'bash "$here/users.sh"\n', 'bash "$here/users.sh" || true\n'),
    ("bootstrap.sh", 'bash "$here/auth_key.sh"\n', 'bash "$here/auth_key.sh" || echo "no key yet"\n'),
    ("compute.sh", 'found: the node does not join; replace the instance" 3', 'found"; say "going on" || exit 3'),
    ("compute.sh", 'bash "$here/fabric_check.sh"\n', 'if ! bash "$here/fabric_check.sh"; then say slow; fi\n'),
    ("health_check.sh", "--drain", ""),
)


def test_a_node_that_goes_on_after_an_error_is_named() -> None:
    """Whatever lets a step fail, the node that starts Slurm without what the step is for is found."""
    lenient = tuple(one for one in LENIENT if one[0] != "compute.sh")
    found = booted("aws", lenient)
    started = {fault for fault, ran in found.faulty.items() if starts(ran, "slurmd") is not None}
    assert started >= {"nft", "keyring", "mount", "key"}
    assert found.health is not None
    assert not any("drain" in str(call) for call in found.health.of("scontrol"))


def test_a_node_without_its_fabric_is_named() -> None:
    """A check of the fabric whose result is only said lets the node take jobs."""
    found = booted("azure", (LENIENT[6],))
    assert starts(found.faulty["fabric"], "slurmd") is not None
    assert starts(found.faulty["gpus"], "slurmd") is None


def test_a_step_too_late_is_named() -> None:
    """Slurm that starts before its key takes jobs that nobody signed."""
    late = (
        ("bootstrap.sh", 'bash "$here/auth_key.sh"\n', ""),
        (
            "bootstrap.sh",
            'bash "$here/$CLUSTER_ROLE.sh"\n',
            'bash "$here/$CLUSTER_ROLE.sh"\nbash "$here/auth_key.sh"\n',
        ),
    )
    assert "compute: takes jobs before it has the cluster's key" in wrong("aws", late)


def test_a_socket_for_everybody_is_named() -> None:
    """Who gets into the folder of a socket gets the tokens that it answers with."""
    found = booted(
        "gcp", (("bucket_gcp.sh", '--directory --mode=0700 "${socket%/*}"', '--directory --mode=0755 "${socket%/*}"'),)
    )
    (one,) = [one for ran in found.served for one in sockets(ran)]
    assert "/run/gpu-cluster-data/token" in one.message


def test_a_secret_among_arguments_is_named() -> None:
    """What a program is called with, every process of the machine sees."""
    shown = (("http.sh", "--header @<(printf '%s\\n' \"$header\")", '--header "$header"'),)
    assert "hands a secret (token) to curl as an argument" in wrong("azure", shown)


@pytest.mark.parametrize(
    ("text", "expected"), [("30", 30), ("1:30", 1.5), ("2:00:00", 120), ("1-0", 1440), ("2-12:30", 3630)]
)
def test_times_are_those_of_sbatch(text: str, expected: float) -> None:
    """Minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, as sbatch(1) lists them."""
    assert minutes(text) == expected


def test_a_boot_that_does_not_end_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that waits for ever costs the time of one trial, not of one for each fault."""
    monkeypatch.setattr(booting, "_TIMEOUT_S", 3)
    ended = booted("aws", (("bootstrap.sh", 'bash "$here/metadata.sh"\n', "while :; do :; done\n"),))
    assert [(role, ran.status) for role, ran in ended.roles.items()] == [("compute", None)]
    assert ended.faulty == {}


JOINED: Changes = (
    ("bootstrap.sh", 'bash "$here/users.sh"\n', 'bash "$here/users.sh"\nbash "$here/users_directory.sh"\n'),
)
WITH_DIRECTORY = replace(NODES["gcp"], directory=True)


@cache
def joined(changes: Changes = ()) -> str:
    """Return everything that is wrong with machines of a project with a directory, a line each."""
    files = {path.name: path.read_text() for path in SCRIPTS.iterdir() if path.suffix in (".sh", ".csv")}
    for name, old, new in (*JOINED, *changes):
        assert files[name].count(old) == 1, f"{name}: {old}"
        files[name] = files[name].replace(old, new)
    found = boots(frozenset(files.items()), WITH_DIRECTORY)
    assert found is not None
    assert {ran.status for ran in found.roles.values()} == {0}, "\n".join(ran.said for ran in found.roles.values())
    return "\n".join(
        f"{role}: {one.message}"
        for role, ran in found.roles.items()
        for one in problems(role, ran, WITH_DIRECTORY, 48, "UNLIMITED")
    )


def test_machines_of_a_directory_boot_as_they_should() -> None:
    """Every role is joined, lets in those whom the settings name, and shows the password to nobody."""
    assert joined() == ""


DIRECTORY, LOGINS = "users_directory.sh", "users_directory_logins.sh"
JOINED_CARELESSLY: Changes = (
    (DIRECTORY, "ldap_tls_reqcert = demand", "ldap_tls_reqcert = never"),
    (DIRECTORY, "ldap_uri = $uris", "ldap_uri = ldap://ldap1.example.com"),
    (DIRECTORY, "sssd.conf 0600", "sssd.conf 0644"),
    (DIRECTORY, "simple_allow_groups = $entering", "simple_allow_groups = others"),
    (DIRECTORY, "enumerate = false", "enumerate = true"),
    (DIRECTORY, "min_id = $first", "min_id = 1"),
    (DIRECTORY, "= $CLUSTER_SHARED_PATH/home/%u", "= /home/%u"),
    (DIRECTORY, "start_service sssd", ": sssd"),
    (DIRECTORY, "entering=''", ":"),
    (LOGINS, "KbdInteractiveAuthentication $asks", "KbdInteractiveAuthentication yes"),
    (LOGINS, '"%$ADMINISTRATORS ALL', '"%ALL ALL'),
)


@pytest.mark.parametrize(
    "said",
    [
        "compute: ldap_tls_reqcert is never: any server may say who becomes root",
        "compute: asks the directory in plain text",
        "compute: has /etc/sssd/sssd.conf with mode 0644",
        "compute: writes a secret (password of the directory) into /etc/sssd/sssd.conf, mode 0644",
        "login: lets in others of the directory, and the settings say trial-admins, trial-users",
        "compute: lets in others of the directory, and the settings say nobody on nodes",
        "compute: enumerate is true",
        "compute: min_id is 1",
        "compute: override_homedir is /home/%u",
        "compute: starts no sssd",
        "login: lets passwords in",
        "login: makes every user root",
    ],
)
def test_a_directory_that_is_joined_carelessly_is_found(said: str) -> None:
    """Plain text, any certificate, everybody, a file that others read: each is named for the role that has it."""
    assert said in joined(JOINED_CARELESSLY)


def test_nodes_alone_wait_for_the_password_that_is_typed_on_the_controller() -> None:
    """Controller and login machine start without it and say so; a node does not join before it is there."""
    files = {path.name: path.read_text() for path in SCRIPTS.iterdir() if path.suffix in (".sh", ".csv")}
    stored = 'kept="$(CLUSTER_WAIT_S=86400 stored '
    changes = (*JOINED, (DIRECTORY, stored, stored.replace("86400", "1")))
    for name, old, new in changes:
        assert files[name].count(old) == 1
        files[name] = files[name].replace(old, new)
    # A store that has no password yet.
    files["secret_gcp.sh"] = files["secret_gcp.sh"].replace(
        "set -euo pipefail\n", 'set -euo pipefail\ncase "$CLUSTER_SECRET_ID" in *bindword*) exit 1 ;; esac\n', 1
    )
    found = boots(frozenset(files.items()), WITH_DIRECTORY)
    assert found is not None
    ended = {role: ran.status for role, ran in found.roles.items()}
    assert ended.pop("compute") not in {0, None}
    assert set(ended.values()) == {0}
    assert all("goes on without the directory" in found.roles[role].said for role in ended)


def test_a_machine_that_is_not_joined_is_found() -> None:
    """The step of the boot left out, and a trace of the shell that would show the password."""
    left_out = ("bootstrap.sh", 'bash "$here/users_directory.sh"\n', "")
    assert "compute: is not joined to the directory" in joined((left_out,))
    traced = (DIRECTORY, "install_text /etc/sssd/sssd.conf", "set -x; install_text /etc/sssd/sssd.conf")
    assert "compute: prints a secret (password of the directory)" in joined((traced,))
