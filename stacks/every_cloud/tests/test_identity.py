"""Whose a state is: what is compared, what is refused, and who gets an id."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_cluster import identity
from gpu_cluster.identity import TYPE, Identity

OWN = Identity(cluster="gpt3", place="us-east-1", account="1", id="a1")


@pytest.mark.parametrize(
    ("state", "own", "adopting", "said"),
    [
        (OWN, OWN, False, ""),
        (replace(OWN, cluster="other"), OWN, False, "it is of another cluster: other, and this folder is for gpt3"),
        (replace(OWN, place="us-west-2"), OWN, False, "it is of another place: us-west-2"),
        (replace(OWN, account="2"), OWN, False, "it is of another account: 2"),
        (replace(OWN, account=""), OWN, False, ""),
        (replace(OWN, id="b2"), OWN, False, "it was brought up from another folder"),
        (OWN, replace(OWN, id=""), False, "it was brought up from another folder"),
        (OWN, replace(OWN, id=""), True, ""),
        (replace(OWN, place="us-west-2"), OWN, True, "it is of another place"),
        (replace(OWN, account="2"), OWN, True, "it is of another account"),
        (Identity(cluster="", place="", account="", id=""), replace(OWN, id=""), False, "it does not say whose it is"),
        (Identity(cluster="", place="", account="", id=""), OWN, False, ""),
        (replace(OWN, id=""), OWN, False, ""),
        (replace(OWN, id=""), replace(OWN, id=""), False, "it was brought up without ./cluster.sh"),
        (replace(OWN, id=""), replace(OWN, id=""), True, ""),
    ],
)
def test_a_foreign_state_is_named(state: Identity, own: Identity, adopting: bool, said: str) -> None:  # noqa: FBT001
    """Name, place and account always have to agree, the id unless the owner says that it is the same cluster."""
    found = identity.objection(state, own, adopting=adopting)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def deployment(*resources: Mapping[str, object]) -> dict[str, object]:
    """What the engine exports of a stack."""
    return {"version": 3, "deployment": {"resources": [{"type": "pulumi:pulumi:Stack"}, *resources]}}


def test_a_state_says_whose_it_is() -> None:
    """An empty stack is nobody's; one with resources but without a record is somebody's, unknown whose."""
    assert identity.state_of({}) is None
    assert identity.state_of({"deployment": {}}) is None
    assert identity.state_of(deployment()) is None
    unknown = identity.state_of(deployment({"type": "aws:ec2/vpc:Vpc"}))
    assert unknown == Identity(cluster="", place="", account="", id="")
    outputs = {"cluster": "gpt3", "place": "us-east-1", "account": "1", "id": "a1"}
    assert identity.state_of(deployment({"type": TYPE, "outputs": outputs})) == OWN


PULUMI = """#!/bin/sh
case "$*" in
  *"$STATE_OF"*) cat state.json ;;
  *) echo "error: no stack named 'small' found" >&2; exit 255 ;;
esac
"""


class Folder:
    """A project with a stand-in for the engine, which has the state of one layer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "foundation").mkdir()
        (path / "foundation" / "Pulumi.yaml").write_text("name: aws-gpu-foundation\n")
        (path / "foundation" / "Pulumi.small.yaml").write_text(
            "config:\n  aws:region: us-east-1\n  aws-gpu-foundation:clusterName: gpt3\n"
        )
        (path / "pulumi").write_text(PULUMI)
        (path / "pulumi").chmod(0o755)

    def ask(self, command: str, state: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run the module as `cluster.sh` does."""
        resources = [] if state is None else [{"type": TYPE, "outputs": state}]
        (self.path / "state.json").write_text(json.dumps(deployment(*resources)))
        return subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", "gpu_cluster.identity", command, "small", "small", "1"],
            cwd=self.path,
            env={
                "PATH": f"{self.path}:/usr/bin:/bin",
                "PYTHONPATH": str(Path(identity.__file__).parent.parent),
                "STATE_OF": "-C foundation",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def id(self) -> str:
        """What the folder says the cluster is."""
        return identity.read_file(self.path, "small").get("id", "")


def test_the_first_up_gives_the_id(tmp_path: Path) -> None:
    """A preview writes nothing, the first `up` does, and the state that it makes is this folder's from then on."""
    folder = Folder(tmp_path)
    assert folder.ask("preview").stdout == "new\n"
    assert folder.id == ""
    assert folder.ask("up").returncode == 0
    given = folder.id
    assert len(given) == 12
    state = {"cluster": "gpt3", "place": "us-east-1", "account": "1", "id": given}
    done = folder.ask("up", state)
    assert (done.returncode, done.stdout, folder.id) == (0, "", given)


def test_a_folder_takes_over_a_state_only_by_adopting_it(tmp_path: Path) -> None:
    """Refused with both identities and the fix; after `adopt` the folder has the state's id."""
    folder = Folder(tmp_path)
    state = {"cluster": "gpt3", "place": "us-east-1", "account": "1", "id": "a1"}
    done = folder.ask("up", state)
    assert done.returncode == 1
    for words in (
        "cluster gpt3 in us-east-1 of account 1, id a1",
        "id unknown",
        "Nothing was done",
        "cluster.sh adopt",
    ):
        assert words in done.stderr
    assert folder.id == ""
    assert folder.ask("adopt", state).returncode == 0
    assert folder.id == "a1"
    assert folder.ask("up", state).returncode == 0
    assert folder.ask("adopt", {**state, "place": "eu-west-1"}).returncode == 1


def test_nothing_to_adopt(tmp_path: Path) -> None:
    """Without a state there is nothing to take over."""
    done = Folder(tmp_path).ask("adopt")
    assert done.returncode == 1
    assert done.stderr.startswith("STA006: foundation/Pulumi.small.yaml: ")
    assert "no state to adopt" in done.stderr


@pytest.mark.parametrize(
    ("state", "way_out"),
    [
        # Of one of the same name and place, with an id and without: there is no file to copy for the second.
        (
            {"id": "b2"},
            "copy its foundation/cluster-id.small.json here, or, if this folder was\ngenerated again for it",
        ),
        ({"id": ""}, "with the cluster of that state, ./cluster.sh adopt"),
        # These cannot be adopted, whatever the folder says.
        ({"cluster": "other", "id": ""}, "work in the folder that it was brought up from"),
        ({"place": "eu-west-1", "id": "b2"}, "work in the folder that it was brought up from"),
    ],
)
def test_a_foreign_state_is_refused_with_a_way_out_that_works(
    tmp_path: Path, state: dict[str, str], way_out: str
) -> None:
    """Id, file and key come first; `adopt` is named only where it would be taken."""
    folder = Folder(tmp_path)
    known = {"cluster": "gpt3", "place": "us-east-1", "account": "1", **state}
    done = folder.ask("up", known)
    assert done.returncode == 1
    assert done.stderr.startswith("STA003: foundation/Pulumi.small.yaml, clusterName: the state small of layer")
    assert way_out in done.stderr
    assert (folder.ask("adopt", known).returncode == 0) == ("cluster.sh adopt" in done.stderr)


def test_a_state_that_cannot_be_read_stops(tmp_path: Path) -> None:
    """Not to know whose a state is is no permission."""
    folder = Folder(tmp_path)
    (tmp_path / "pulumi").write_text("#!/bin/sh\necho 'error: no credentials' >&2\nexit 1\n")
    done = folder.ask("up")
    assert done.returncode == 1
    assert done.stderr.startswith("STA005: foundation/Pulumi.yaml, backend.url: the state small of layer foundation")
    assert "cannot be read: error: no credentials\nNothing was done. Correct what pulumi says" in done.stderr
    assert "Traceback" not in done.stderr
