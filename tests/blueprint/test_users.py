"""Users and groups of a blueprint: what Linux, Slurm and SSH take, refused where it is written."""

import base64
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.sections.users import user_problems
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.user_list import MOST_BYTES, Group, User, faults, key_problem, list_text

#: Made by ssh-keygen of OpenSSH 9.2.
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBr5qlV/mQcbXat+Wt5+JqXeQsb6kpNLOodxKE1v4+8N alice@example.com"
ECDSA_256 = (
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBCLYAipuFHR2nroBA7"
    "4Y4QjjSG+2SCI2Oi3NVrVJCQWzmiA0Emwj6JSW067SqjOrJvHzHf5Gxq8V44NCXMPSGK4= bob"
)
BLUEPRINT = """\
name: small
workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}
targets:
  aws: {instance: p5.48xlarge, region: us-east-1}
cluster:
"""
NODE_SCRIPT = Path(__file__).parents[2] / "templates" / "node" / "users.sh"


def problems(tmp_path: Path, cluster: str) -> str:
    """Return what is said of a blueprint whose section `cluster` is this text."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(BLUEPRINT + cluster)
    try:
        loaded = load(path)
    except BlueprintError as error:
        return error.render()
    found = resolve(loaded.blueprint, load_catalogue())
    assert not isinstance(found, Resolved)
    error = loaded.error(found)
    assert error.exit_code == 2
    return error.render()


def test_mistakes_of_users_are_reported_with_those_of_other_sections(tmp_path: Path) -> None:
    """A folder that is not shared and a number that stands twice: both are reported at once, each at its place."""
    listed = "[{name: alice, uid: 20001, ssh_keys: []}, {name: bob, uid: 20001, ssh_keys: []}]"
    said = problems(tmp_path, f"  users: {listed}\n  jobs: {{data: /scratch/data}}\n")
    assert "error[USR004]: 20001 is the number of user alice" in said
    assert "error[JOB003]: '/scratch/data' is not on the shared file system" in said
    assert said.count("blueprint.yaml:6:") == 1
    assert said.count("blueprint.yaml:7:") == 1


def user(name: str = "alice", uid: int = 20001, **fields: object) -> User:
    """Return a user who is fine but for what is given."""
    return User(name=name, uid=uid, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    ["Alice", "1alice", "-alice", "_alice", "a.smith", "a smith", "a:b", "alice$", "älice", "", "a" * 33, "x\n", "a/b"],
)
def test_names_that_linux_or_slurm_do_not_take_are_refused(name: str) -> None:
    """A name that useradd, a file of Slurm or a path would refuse or misread never reaches a machine."""
    assert [one.id for one in faults([user(name)], [])] == ["USR001"]
    assert [one.id for one in faults([], [Group(name=name, gid=20001)])] == ["USR001"]


@pytest.mark.parametrize("name", ["alice", "a", "a_smith", "a-smith2", "a" * 32])
def test_ordinary_names_are_taken(name: str) -> None:
    """What useradd takes in lower case is fine."""
    assert faults([user(name)], []) == []


@pytest.mark.parametrize(
    "name",
    [
        "root",
        "slurm",
        "munge",
        "ssm-user",
        "ubuntu",
        "azureuser",
        "ec2-user",
        "daemon",
        "sudo",
        "docker",
        "nobody",
        "clusteradmin",
        "cluster-admins",
        "systemd-network",
        "sa_1234",
    ],
)
def test_names_of_the_system_are_reserved(name: str) -> None:
    """A list cannot take over an account of the machine, nor hand out a group that is root by another name."""
    assert [one.id for one in faults([user(name)], [])] == ["USR002"]
    assert [one.id for one in faults([], [Group(name=name, gid=20001)])] == ["USR002"]


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (0, "own services"),
        (-1, "no user or group id"),
        (999, "own services"),
        (1000, "ubuntu"),
        (1001, "ssm-user"),
        (1099, "images"),
        (60_000, "set it aside"),
        (64_030, "slurm is 64030"),
        (65_534, "nobody"),
        (65_535, "set it aside"),
        (100_000, "/etc/subuid"),
        (4_294_967_295, "/etc/subuid"),
        (4_294_967_296, "no user or group id"),
    ],
)
def test_numbers_that_are_taken_are_refused_with_the_reason(number: int, reason: str) -> None:
    """System ranges, the images' first users, Debian's fixed numbers and containers' numbers are nobody's to give."""
    (found,) = faults([user(uid=number)], [])
    assert found.id == "USR003"
    assert reason in found.message
    assert found.path == ("users", 0, "uid")


@pytest.mark.parametrize("number", [1100, 20_001, 59_999, 65_536, 99_999])
def test_numbers_between_are_free(number: int) -> None:
    """The first and last number of each free range can be given."""
    assert faults([user(uid=number)], []) == []


def test_names_and_numbers_are_given_once() -> None:
    """The same name or number twice is refused, across users and groups, since every user has a group of the own."""
    users = [user(), user("bob"), user("alice", 20003), user("carol", 20100)]
    found = faults(users, [Group(name="research", gid=20100)])
    assert [(one.id, one.path) for one in found] == [
        ("USR004", ("users", 1, "uid")),
        ("USR004", ("users", 2, "name")),
        ("USR004", ("users", 3, "uid")),
    ]
    assert "20001 is the number of user alice" in found[0].message
    assert "20100 is the number of group research" in found[2].message


def test_groups_have_to_exist() -> None:
    """A group of a user that the list of groups lacks is refused, and the ones there are named."""
    (found,) = faults([user(groups=("research", "reserch"))], [Group(name="research", gid=20100)])
    assert (found.id, found.path) == ("USR005", ("users", 0, "groups", 1))
    assert "research" in found.help


@pytest.mark.parametrize("key", [ED25519, ECDSA_256, ED25519.rsplit(" ", 1)[0], f"{ED25519}\n"])
def test_keys_of_openssh_are_taken(key: str) -> None:
    """Lines that ssh-keygen writes are fine, with and without a comment."""
    assert key_problem(key) is None


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("AAAAC3NzaC1lZDI1NTE5", "not one line of a public key"),
        (f"command=x {ED25519}", "not one line"),
        (f"{ED25519}\n{ED25519}", "not one line"),
        (ED25519.replace(" AAAA", " AAAB"), "does not add up"),
        (ED25519[:60], "does not add up"),
        (ED25519.replace("ssh-ed25519 ", "ssh-rsa "), "does not say ssh-rsa inside"),
        (ED25519.replace("ssh-ed25519 ", "ssh-dss "), "no type of key that OpenSSH takes"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"),
        ("ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x03abc").decode(), "not as long as"),
        (f"{ED25519} \x1b[2J", "not one line"),
    ],
)
def test_lines_that_are_no_key_are_refused(key: str, said: str) -> None:
    """A key that is cut off, of another type, with options, or private is refused before anything is made."""
    (found,) = faults([user(ssh_keys=(key,))], [])
    assert (found.id, found.path) == ("USR006", ("users", 0, "ssh_keys", 0))
    assert said in found.message
    assert "\x1b" not in found.message


def test_a_private_key_is_not_shown() -> None:
    """The sentence about a private key does not hold it: it may end up in a log."""
    (found,) = faults([user(ssh_keys=("-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaA",))], [])
    assert "b3Blb" not in found.message + found.help


def test_a_list_that_no_store_takes_is_refused() -> None:
    """With a key each, 180 users fit; what is longer than the smallest store is refused with both numbers."""
    many = [user(f"user{number}", 20_000 + number, ssh_keys=(ED25519,)) for number in range(400)]
    assert len(list_text(many[:180], []).encode()) < MOST_BYTES
    assert faults(many[:180], []) == []
    (found,) = faults(many, [])
    assert found.id == "USR007"
    assert "24,000" in found.message


_NAMES = st.from_regex(r"\A[a-z][a-z0-9_-]{0,31}\Z")


@given(
    st.lists(st.tuples(_NAMES, st.integers(1100, 59_999), st.booleans()), unique_by=(lambda x: x[0], lambda x: x[1]))
)
def test_every_line_of_a_list_is_one_that_the_machines_read(entries: list[tuple[str, int, bool]]) -> None:
    """The text of any list without faults consists of lines that users.sh accepts, one for each user and key."""
    users = [User(name=n, uid=u, administrator=a, ssh_keys=(ED25519,)) for n, u, a in entries]
    word, number = "[a-z][a-z0-9_-]{0,31}", "[1-9][0-9]{3,9}"
    script = NODE_SCRIPT.read_text()
    assert f"word='{word}' number='{number}'" in script
    user_line = rf"user ({word}) {number} (yes|no)( {word}(,{word})*)?"
    pattern = rf"({user_line}|key {word} [a-z0-9@.-]+ [A-Za-z0-9+/=]+( .*)?|)"
    lines = list_text(users, []).splitlines()
    assert all(re.fullmatch(pattern, line) for line in lines)
    assert len([line for line in lines if line]) == 2 * len(users)


def test_a_blueprint_says_where_the_mistake_is(tmp_path: Path) -> None:
    """Every mistake is shown at once with id, line, caret and what to do."""
    said = problems(
        tmp_path,
        "  groups: [{name: docker, gid: 20100}]\n"
        "  users:\n"
        "  - {name: root, uid: 20001, ssh_keys: []}\n"
        "  - name: bob\n"
        "    uid: 64030\n"
        "    groups: [students]\n"
        "    ssh_keys: [not-a-key]\n"
        "    google_account: bob\n",
    )
    for expected in (
        "error[USR002]: docker is an account or group of the system",
        "blueprint.yaml:6:19",
        "error[USR002]: root",
        "error[USR003]: 64030 is taken",
        "blueprint.yaml:10:10",
        "error[USR005]: there is no group 'students'",
        "error[USR006]: not one line of a public key: 'not-a-key'",
        "error[USR009]: 'bob' is not an e-mail address, that of the account at Google",
        "blueprint.yaml:13:21",
    ):
        assert expected in said
    assert said.count("help:") == 6


def test_an_identity_that_disagrees_with_the_directory_is_refused(tmp_path: Path) -> None:
    """A directory that nobody names cannot be joined, and one that is named is not ignored."""
    said = problems(tmp_path, "  identity: directory\n")
    assert "error[USR008]: identity is directory, and cluster.directory does not say which one" in said
    assert "blueprint.yaml:6:13" in said
    (found,) = user_problems([], [], "directory")
    assert found.id == "USR008"
    (found,) = user_problems([], [], "local", joined=True)
    assert found.id == "USR008"
    for identity, joined in (("directory", True), ("local", False), (None, True), (None, False)):
        assert not list(user_problems([], [], identity, joined=joined))  # type: ignore[arg-type]


def test_a_user_needs_keys_or_a_statement_of_none(tmp_path: Path) -> None:
    """Forgetting the keys is noticed in the blueprint, not at the first login."""
    assert "ssh_keys" in problems(tmp_path, "  users: [{name: alice, uid: 20001}]\n")


ALICE = "{name: alice, uid: 20001, ssh_keys: []}"


@pytest.mark.parametrize(
    ("rule", "wrong", "right"),
    [
        ("USR010", "users: [{name: alice, uid: 20001}]", f"users: [{ALICE}]"),
        ("USR010", "groups: [{name: research}]", "groups: [{name: research, gid: 20100}]"),
        ("USR011", 'users: [{name: alice, uid: "20001", ssh_keys: []}]', f"users: [{ALICE}]"),
        ("USR011", f"users: {ALICE}", f"users: [{ALICE}]"),
        ("USR011", "groups: [{name: 7, gid: 20100}]", "groups: [{name: a7, gid: 20100}]"),
        ("USR011", "identity: ldap", "identity: local"),
        ("USR012", "users: [{name: alice, uid: 20001, ssh_keys: [], shell: /bin/sh}]", f"users: [{ALICE}]"),
        (
            "USR013",
            f"users: [{{name: alice, uid: 20001, ssh_keys: [{', '.join([repr(ED25519)] * 17)}]}}]",
            f"users: [{{name: alice, uid: 20001, ssh_keys: [{', '.join([repr(ED25519)] * 16)}]}}]",
        ),
    ],
)
def test_mistakes_of_form_have_an_id(tmp_path: Path, rule: str, wrong: str, right: str) -> None:
    """A missing key, a value of another type, an unknown key, too many: each with id, place and what to do."""
    said = problems(tmp_path, f"  {wrong}\n")
    assert f"error[{rule}]: " in said
    assert "blueprint.yaml:6:" in said
    assert "help: " in said
    path = tmp_path / "right.yaml"
    path.write_text(f"{BLUEPRINT}  {right}\n")
    assert isinstance(resolve(load(path).blueprint, load_catalogue()), Resolved)


def test_users_beside_one_that_cannot_be_read_are_checked(tmp_path: Path) -> None:
    """Each mistake stands at its own user, and membership is not judged by groups that cannot be read."""
    said = problems(
        tmp_path,
        "  groups: [{name: research}]\n"
        "  users:\n"
        "  - {name: alice, ssh_keys: []}\n"
        "  - {name: root, uid: 20001, ssh_keys: []}\n"
        "  - {name: bob, uid: 20001, groups: [research], ssh_keys: []}\n",
    )
    assert re.findall(r"error\[(\w+)\].*\n.*blueprint.yaml:(\d+):", said) == [
        ("USR010", "6"),
        ("USR010", "8"),
        ("USR002", "9"),
        ("USR004", "10"),
    ]
