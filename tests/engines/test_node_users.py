"""Users of the cluster's list on real machines: who they are, what they may do, and what they cannot reach."""

import subprocess
from pathlib import Path

import pytest

from tests.engines import test_node_bootstrap as site
from tests.engines.test_node_bootstrap import METADATA_ADDRESSES, NODE_SCRIPTS, USERS, Machine

pytestmark = pytest.mark.engine

machines = site.machines
cluster = site.cluster
MEMBERS = ("head", "login", *site.NODES)
ANSWER = "identity\n"


def as_user(machine: Machine, user: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a login shell of a user."""
    return machine.run("su", "--login", user, "--command", script)


def asks(address: str, port: int = 80) -> str:
    """Return the command that asks a metadata service."""
    host = f"[{address}]" if ":" in address else address
    return f"curl --silent --show-error --fail --max-time 5 http://{host}:{port}/"


def shared(machine: Machine) -> Path:
    """Return the folder that all machines share."""
    return Path(machine.run("bash", "-lc", "echo $CLUSTER_SHARED_PATH").stdout.strip())


def give_list(machines: dict[str, Machine], text: str, *, to: tuple[str, ...] = MEMBERS) -> str:
    """Make a text the cluster's list and apply it as the timer does; what the machines say of it is returned."""
    (shared(machines["head"]).parent / "users").write_text(text)
    said = ""
    for name in to:
        result = machines[name].run("bash", str(NODE_SCRIPTS / "users.sh"))
        assert result.returncode == 0, result.stderr
        said += result.stderr
    return said


@pytest.mark.parametrize("name", ["head", "login", "node1"])
@pytest.mark.parametrize("address", METADATA_ADDRESSES)
def test_the_metadata_service_answers_root_alone(cluster: dict[str, Machine], name: str, address: str) -> None:
    """On every kind of machine root gets an answer at each of the addresses, a user's login shell at none."""
    machine = cluster[name]
    assert machine.run("bash", "-c", asks(address)).stdout == ANSWER
    refused = as_user(machine, "alice", asks(address))
    assert refused.returncode == 7
    assert refused.stdout == ""
    # A namespace in which the user is root is the user's own all the same.
    assert as_user(machine, "alice", f"unshare --user --map-root-user {asks(address)}").returncode == 7


def test_the_wire_server_answers_root_alone(cluster: dict[str, Machine]) -> None:
    """Azure's second port, which hands out the machine's settings, is closed too."""
    ask = asks("168.63.129.16", 32526)
    assert cluster["node1"].run("bash", "-c", ask).stdout == ANSWER
    assert as_user(cluster["node1"], "alice", ask).returncode == 7


def test_a_job_step_gets_no_answer(cluster: dict[str, Machine]) -> None:
    """Neither a user's job step nor a job with a namespace of its own reaches the machine's identity, on any node."""
    ask = asks("169.254.169.254")
    probe = f"{ask}; echo $? $(id --user); unshare --user --map-root-user {ask}; echo $?"
    result = as_user(cluster["login"], "alice", f"srun --nodes=4 bash -c '{probe}'")
    assert sorted(result.stdout.splitlines()) == ["7"] * 4 + ["7 20001"] * 4, result.stderr
    root = cluster["login"].run("srun", "--nodes=4", "bash", "-c", ask)
    assert root.stdout == ANSWER * 4


def test_a_container_with_its_own_network_gets_no_answer(cluster: dict[str, Machine]) -> None:
    """Root in a container reaches the cluster's network through its node, and the metadata service by no address."""
    node = cluster["node2"]
    setup = """
set -e
ip netns add container
ip link add box0 type veth peer name eth0 netns container
ip address add 172.30.0.1/24 dev box0
ip -6 address add fd00:30::1/64 dev box0 nodad
ip link set box0 up
inside="ip netns exec container"
$inside ip link set lo up
$inside ip address add 172.30.0.2/24 dev eth0
$inside ip -6 address add fd00:30::2/64 dev eth0 nodad
$inside ip link set eth0 up
$inside ip route add default via 172.30.0.1
$inside ip -6 route add default via fd00:30::1
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
"""
    made = node.run("bash", "-c", setup)
    assert made.returncode == 0, made.stderr
    number = list(site.ADDRESSES).index("node2") + 1
    back = (
        f"ip route add 172.30.0.0/24 via {site.ADDRESSES['node2']}; ip -6 route add fd00:30::/64 via fd00:77::{number}"
    )
    assert cluster["metadata"].run("bash", "-c", back).returncode == 0

    def inside(address: str) -> str:
        return node.run("ip", "netns", "exec", "container", "bash", "-c", asks(address)).stdout

    service = list(site.ADDRESSES).index("metadata") + 1
    assert [inside(one) for one in (site.ADDRESSES["metadata"], f"fd00:77::{service}")] == [ANSWER, ANSWER]
    assert [inside(one) for one in METADATA_ADDRESSES] == [""] * 4
    # The rules are what keeps it out: without them the container gets every answer.
    node.run("nft", "delete", "table", "inet", "gpu_cluster")
    open_ = [inside(one) for one in METADATA_ADDRESSES]
    shell = as_user(node, "alice", asks("169.254.169.254")).stdout
    closed = node.run("bash", str(NODE_SCRIPTS / "metadata.sh"))
    node.run("ip", "netns", "delete", "container")
    assert open_ == [ANSWER] * 4
    assert shell == ANSWER
    assert closed.returncode == 0
    assert as_user(node, "alice", asks("169.254.169.254")).stdout == ""


def test_names_are_still_answered_at_the_metadata_address(cluster: dict[str, Machine]) -> None:
    """Port 53 stays open to everybody: Azure and Google Cloud resolve names at the same addresses."""
    serve = "setsid python3 -m http.server --directory /var/metadata --bind :: 53 >/dev/null 2>&1 </dev/null &"
    cluster["metadata"].run("bash", "-c", serve)
    ask = f"for _ in $(seq 50); do {asks('169.254.169.254', 53)} 2>/dev/null && exit; sleep 0.1; done"
    assert as_user(cluster["node1"], "alice", ask).stdout == ANSWER


def test_the_key_is_for_munge_alone_and_credentials_for_every_user(cluster: dict[str, Machine]) -> None:
    """A user cannot read Slurm's key anywhere, and has a credential that every machine takes for the same user."""
    for name in MEMBERS:
        assert as_user(cluster[name], "alice", "cat /etc/munge/munge.key").returncode == 1
    credential = as_user(cluster["login"], "alice", "munge --no-input").stdout
    shown = cluster["node3"].run("bash", "-c", f"unmunge <<<'{credential}'").stdout
    assert "alice (20001)" in shown


def test_a_user_is_the_same_on_every_machine(cluster: dict[str, Machine]) -> None:
    """Name, number, groups and home are those of the list on controller, login machine and nodes."""
    home = shared(cluster["head"]) / "home" / "alice"
    for name in MEMBERS:
        assert cluster[name].run("id", "--user", "alice").stdout == "20001\n"
        groups = cluster[name].run("id", "--name", "--groups", "alice").stdout.split()
        assert sorted(groups) == ["alice", "cluster-users", "research"]
        assert cluster[name].run("getent", "group", "research").stdout.split(":")[2] == "20100"
        assert cluster[name].run("getent", "passwd", "alice").stdout == f"alice:x:20001:20001::{home}:/bin/bash\n"
    stat = cluster["node1"].run("stat", "--format=%u %g %a", str(home), f"{home}/.bashrc").stdout.splitlines()
    assert stat == ["20001 20001 700", "20001 20001 644"]
    assert as_user(cluster["node4"], "bob", f"ls {home}").returncode == 2


def test_a_user_submits_and_finds_the_result_at_home(cluster: dict[str, Machine]) -> None:
    """A batch job of an ordinary user runs on four nodes as that user and writes into the shared home."""
    script = "#!/bin/bash\nsrun --nodes=4 bash -c 'id --user; pwd'\n"
    submit = f"cat >job.sh <<'X'\n{script}X\nsbatch --wait --nodes=4 --output=job.log job.sh && cat job.log"
    result = as_user(cluster["login"], "alice", submit)
    home = str(shared(cluster["head"]) / "home" / "alice")
    assert sorted(result.stdout.splitlines()[1:]) == sorted(["20001", home] * 4), result.stderr


def test_administrators_alone_may_become_root_and_not_on_nodes(cluster: dict[str, Machine]) -> None:
    """The group of administrators has sudo on controller and login machine; nodes have no such file at all."""
    for name, wanted in (("head", "root 440\n"), ("login", "root 440\n"), ("node1", "")):
        assert cluster[name].run("stat", "--format=%U %a", "/etc/sudoers.d/gpu-cluster").stdout == wanted
    rule = cluster["login"].run("cat", "/etc/sudoers.d/gpu-cluster").stdout
    assert rule == "%cluster-admins ALL=(ALL) NOPASSWD:ALL\n"
    members = cluster["login"].run("getent", "group", "cluster-admins").stdout
    assert members.rstrip().endswith(":eve")


def test_users_get_in_with_their_keys_where_they_belong(cluster: dict[str, Machine]) -> None:
    """Keys are root's files on every machine; controller and nodes refuse ordinary users, and passwords nobody uses."""
    for name in MEMBERS:
        machine = cluster[name]
        key = machine.run("cat", "/etc/ssh/gpu-cluster/alice").stdout
        assert key == "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKx0 alice@example.com\n"
        assert machine.run("stat", "--format=%U %a", "/etc/ssh/gpu-cluster/alice").stdout == "root 644\n"
        config = machine.run("cat", "/etc/ssh/sshd_config.d/10-gpu-cluster.conf").stdout
        assert ("DenyGroups cluster-users" in config) == (name != "login")
        assert machine.run("getent", "shadow", "alice").stdout.split(":")[1] == "*"


def test_a_changed_list_is_applied_without_touching_anything_else(cluster: dict[str, Machine]) -> None:
    """New users appear, changed ones change, who left is locked out and keeps the home; a return unlocks."""
    login, home = cluster["login"], shared(cluster["head"]) / "home"
    left = "\n".join(line for line in USERS.splitlines() if " alice" not in line)
    changed = f"{left}\nuser carol 20004 no research\n".replace("bob 20002 no", "bob 20002 yes research")
    asleep = login.run(
        "bash", "-c", "setpriv --reuid=20001 --clear-groups setsid sleep 900 >/dev/null 2>&1 </dev/null & echo $!"
    )
    give_list(cluster, changed)
    assert login.run("id", "--user", "carol").stdout == "20004\n"
    assert login.run("id", "--name", "--groups", "bob").stdout.split() == ["bob", "cluster-admins", "research"]
    gone = login.run("getent", "passwd", "alice").stdout
    assert gone.endswith(":/usr/sbin/nologin\n")
    assert as_user(login, "alice", "true").returncode != 0
    assert login.run("test", "-e", "/etc/ssh/gpu-cluster/alice").returncode == 1
    # A process that nobody waited for stays in the table as a zombie.
    assert login.run("ps", "-o", "stat=", "-p", asleep.stdout.strip()).stdout.strip()[:1] in ("", "Z")
    assert (home / "alice" / ".bashrc").exists()
    give_list(cluster, USERS)
    assert as_user(login, "alice", "id --user").stdout == "20001\n"
    assert login.run("id", "--name", "--groups", "bob").stdout.split() == ["bob", "cluster-users"]


def test_the_same_list_again_changes_nothing(cluster: dict[str, Machine]) -> None:
    """A run with an unchanged list leaves every file as it was, so that it may run every few minutes."""
    look = ["bash", "-c", "stat --format='%n %Y %i' /etc/passwd /etc/group /etc/shadow /etc/ssh/gpu-cluster/*"]
    give_list(cluster, USERS)
    before = cluster["node1"].run(*look).stdout
    assert give_list(cluster, USERS) == ""
    assert cluster["node1"].run(*look).stdout == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("user daemon 20009 no", "user daemon: this machine knows the name or 20009 already"),
        ("user dora 20001 no", "user dora: this machine knows the name or 20001 already"),
        ("user dora 20444 no", "user dora: 20444 is not who owns the homes"),
        ("user frank 20555 no", "user frank: 20555 is not who owns the homes"),
        ("group daemon 20009", "group daemon: this machine knows the name or 20009 already"),
    ],
)
def test_nobody_gets_the_name_number_or_files_of_another(cluster: dict[str, Machine], line: str, said: str) -> None:
    """A line that clashes with an account of the machine or with the owner of a home is left out, the others stay."""
    homes = shared(cluster["head"]) / "home"
    for folder, owner in (("former", 20444), ("frank", 20556)):
        (homes / folder).mkdir(exist_ok=True)
        cluster["head"].run("chown", str(owner), str(homes / folder))
    before = cluster["node1"].run("getent", "passwd").stdout
    assert give_list(cluster, f"{USERS}{line}\n", to=("node1",)).startswith(f"gpu-cluster: {said}")
    assert cluster["node1"].run("getent", "passwd").stdout == before
    give_list(cluster, USERS, to=("node1",))


@pytest.mark.parametrize(
    "line",
    [
        "user root 0 yes",
        "user a:b 20010 no",
        "user x;reboot 20010 no",
        "key alice command=x ssh-rsa AAAA",
        "delete bob",
    ],
)
def test_a_list_that_is_none_changes_nothing(cluster: dict[str, Machine], line: str) -> None:
    """Root's own scripts take nothing from the list that does not have the form of a line."""
    (shared(cluster["head"]).parent / "users").write_text(f"{USERS}{line}\n")
    result = cluster["node1"].run("bash", str(NODE_SCRIPTS / "users.sh"))
    give_list(cluster, USERS, to=("node1",))
    assert result.returncode == 1
    assert f"a line that is none: {line}" in result.stderr


def test_a_second_boot_finds_the_users_as_they_are(cluster: dict[str, Machine]) -> None:
    """The bootstrap with users may run again at any time."""
    give_list(cluster, USERS)
    result = cluster["login"].bootstrap()
    assert result.returncode == 0, result.stderr
    assert as_user(cluster["login"], "alice", "id --user").stdout == "20001\n"
