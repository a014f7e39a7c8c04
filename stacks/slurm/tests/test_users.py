"""Who works on the cluster: what the configuration may say, and what a machine reads of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_cluster.config_values import Values
from gpu_cluster.users import problems_as_written, read_users

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBr5qlV/mQcbXat+Wt5+JqXeQsb6kpNLOodxKE1v4+8N alice@example.com"
ALICE: dict[str, Any] = {"name": "alice", "uid": 20001, "groups": ["research"], "ssh_keys": [KEY]}
RESEARCH = {"name": "research", "gid": 20100}


def problems_of(**configured: object) -> list[str]:
    """Everything that is said of a configuration."""
    values = Values(values=configured)
    read_users(values)
    return values.problems


def test_the_list_is_written_as_the_machines_read_it() -> None:
    """Groups come first, then each user with the own keys; an administrator is marked."""
    eve = {"name": "eve", "uid": "20003", "ssh_keys": [], "administrator": True}
    users = read_users(Values(values={"users": [ALICE, eve], "groups": [RESEARCH]}))
    assert users.text == f"group research 20100\nuser alice 20001 no research\nkey alice {KEY}\nuser eve 20003 yes\n"
    assert users.count == 2


def test_accounts_of_the_clouds_stay_off_the_machines() -> None:
    """Each account counts once, however it is written; the machines' list is the same with and without it."""
    again = {**ALICE, "name": "alice2", "uid": 20002}
    accounts = ({"google_account": "Alice@example.com"}, {"google_account": "alice@example.com"})
    users = read_users(
        Values(values={"users": [ALICE | accounts[0], again | accounts[1]], "groups": [RESEARCH]}),
    )
    assert users.google_accounts == ("alice@example.com",)
    assert users.entra_object_ids == ()
    assert users.text == read_users(Values(values={"users": [ALICE, again], "groups": [RESEARCH]})).text


@pytest.mark.parametrize("configured", [{}, {"users": [], "groups": []}])
def test_no_users_are_an_empty_list(configured: dict[str, object]) -> None:
    """A cluster without users is made; its list is a line, since stores of secrets take no empty text."""
    values = Values(values=configured)
    assert read_users(values).text == "\n"
    assert values.problems == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "root"}, "users[0].name: root is an account or group of the system"),
        ({"name": "Alice"}, "users[0].name: 'Alice' cannot be the name of a user"),
        ({"uid": 64030}, "users[0].uid: 64030 is taken"),
        ({"uid": 999}, "users[0].uid: 999 is taken: Debian and Ubuntu give it to their own services"),
        ({"uid": "many"}, 'users[0].uid: needs a whole number from 0 to 4,294,967,295, got "many"'),
        ({"uid": 20100}, "users[0].uid: 20100 is the number of group research"),
        ({"groups": ["other"]}, "users[0].groups[0]: there is no group 'other' (USR005); add it to groups"),
        ({"ssh_keys": ["ssh-ed25519 AAAA"]}, "users[0].ssh_keys[0]: the key"),
        ({"ssh_key": KEY}, "users[0].ssh_key: unknown key; did you mean 'ssh_keys'?"),
        ({"google_account": "alice"}, "users[0].google_account: 'alice' is not an e-mail address"),
        (
            {"google_account": "user:alice@example.com"},
            "users[0].google_account: 'user:alice@example.com' is not an e-",
        ),
        ({"entra_object_id": "alice@example.com"}, "users[0].entra_object_id: 'alice@example.com' is not an object id"),
        ({"administrator": "perhaps"}, "users[0].administrator: needs true or false"),
    ],
)
def test_what_a_machine_would_refuse_is_refused_before_anything_is_made(change: dict[str, object], said: str) -> None:
    """Each mistake is named with its place, and with what to do."""
    (problem,) = problems_of(users=[ALICE | change], groups=[RESEARCH])
    assert problem.startswith(said)


@pytest.mark.parametrize(
    ("configured", "said"),
    [
        ({"users": {"alice": 20001}}, "users: needs a list of objects"),
        ({"users": ["alice"]}, "users[0]: needs an object with name, uid"),
        ({"users": [{"name": "alice", "uid": 20001}]}, "users[0].ssh_keys: is missing"),
        ({"groups": [{"name": "research"}]}, "groups[0].gid: needs a whole number"),
    ],
)
def test_entries_of_another_form_are_refused(configured: dict[str, object], said: str) -> None:
    """What is no list of users is said to be none, once."""
    (problem,) = problems_of(**configured)
    assert problem.startswith(said)


def test_the_same_number_twice_is_named_with_both_users() -> None:
    """The message says whose number it is."""
    (problem,) = problems_of(users=[ALICE, {**ALICE, "name": "bob"}], groups=[RESEARCH])
    assert problem.startswith("users[1].uid: 20001 is the number of user alice (USR004)")


def test_a_list_may_come_as_pulumi_stores_it() -> None:
    """Numbers as text and text as JSON give the same list."""
    again = json.loads(json.dumps([{**ALICE, "uid": "20001"}]))
    assert problems_of(users=again, groups=[RESEARCH]) == []


@pytest.mark.parametrize("as_text", [False, True])
def test_users_are_looked_at_before_a_layer_starts(tmp_path: Path, *, as_text: bool) -> None:
    """What the file names is judged as the program judges it, also where the list is written as text."""

    def said(*users: dict[str, Any]) -> list[str]:
        listed = json.dumps(users)
        shown = json.dumps(listed) if as_text else listed
        (tmp_path / "Pulumi.small.yaml").write_text(f"config:\n  any-gpu-cluster:users: {shown}\n")
        return problems_as_written(tmp_path, "small")

    alice = {"name": "alice", "uid": 20001, "ssh_keys": []}
    assert said(alice, {**alice, "name": "bob", "uid": 20002}) == []
    wrong = said({**alice, "name": "Alice"}, {**alice, "name": "bob"})
    assert [problem.partition(":")[0] for problem in wrong] == ["users[0].name", "users[1].uid"]
    assert "(USR004)" in wrong[1]


def test_a_layer_without_users_has_nothing_wrong(tmp_path: Path) -> None:
    """A file without configuration, or without the key, is fine."""
    for text in ("", "config:\n", "config:\n  any-gpu-cluster:clusterName: small\n"):
        (tmp_path / "Pulumi.small.yaml").write_text(text)
        assert problems_as_written(tmp_path, "small") == []
