"""`cluster.sh destroy --with-data` on AWS empties the bucket, old versions included, or says what S3 keeps."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from clusterwright import assets

_SCRIPT = assets.root() / "stacks" / "aws" / "base" / "cloud.sh"
#: S3 takes so many keys in one deletion (Amazon S3 API reference, DeleteObjects).
_MOST_IN_A_DELETION = 1000
#: Frame of cluster.sh, with the functions that it gives cloud.sh. What Pulumi says goes on after the bucket's line.
_FRAME = """set -euo pipefail
say() { printf '%s\\n' "$*" >&2; }
fail() { say "cluster.sh: $*"; exit 1; }
configured() { case $2 in aws:region) echo us-east-1 ;; esac; }
output() { echo data; }
pulumi() {
  if [ "$BUCKET" = ours ]; then echo urn:pulumi:small::p::aws:s3/bucket:Bucket::data; fi
  seq -f 'urn:pulumi:small::p::aws:ec2/subnet:Subnet::%g' 20000
}
stack_name=small
. "$0"
allow_deleting_data
echo done
"""
#: S3 with versions and markers of deletion in a file, behind the options that the script gives it.
_AWS = """#!{python}
import json, pathlib, sys
import jmespath

def option(name):
    return sys.argv[sys.argv.index(name) + 1]

store = pathlib.Path({store!r})
held = json.loads(store.read_text())
calls = pathlib.Path({calls!r})
if "list-object-versions" in sys.argv:
    most, answer = int(option("--max-items")), {{}}
    for kind, versions in held.items():
        # The parts of the answer share the limit, and one without entries is not there.
        if versions[:most]:
            answer[kind] = versions[:most]
        most -= len(answer.get(kind, ()))
    print(json.dumps(jmespath.search(option("--query"), answer), indent=4))
elif "delete-objects" in sys.argv:
    asked = json.loads(pathlib.Path(option("--delete").removeprefix("file://")).read_text())
    gone = {{(one["Key"], one["VersionId"]) for one in asked["Objects"]}}
    kept = {{(one["Key"], one["VersionId"]) for one in sum(held.values(), []) if one.get("hold")}}
    with calls.open("a") as log:
        log.write(f"{{len(asked['Objects'])}}\\n")
    store.write_text(json.dumps({{
        kind: [one for one in versions if (one["Key"], one["VersionId"]) not in gone - kept]
        for kind, versions in held.items()
    }}))
    errors = [{{"Key": key, "Code": "AccessDenied", "Message": "Access Denied"}} for key, _ in sorted(gone & kept)]
    answer = jmespath.search(option("--query"), {{"Errors": errors}} if errors else {{}})
    print("None" if answer is None else "\\t".join(answer))
"""


def _destroyed(
    folder: Path, held: Mapping[str, list[dict[str, object]]], *, bucket: str = "ours"
) -> tuple[subprocess.CompletedProcess[str], dict[str, list[object]], list[int]]:
    """Return how the script ended, what the bucket holds after it, and the size of each deletion."""
    store, calls, program = folder / "store.json", folder / "calls", folder / "aws"
    store.write_text(json.dumps(held))
    calls.touch()
    program.write_text(_AWS.format(python=sys.executable, store=str(store), calls=str(calls)))
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", _FRAME, str(_SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": f"{folder}:/usr/bin:/bin", "BUCKET": bucket},
    )
    return done, json.loads(store.read_text()), [int(line) for line in calls.read_text().split()]


def _versions(name: str, count: int) -> list[dict[str, object]]:
    # A quote and a space, as keys of people's files have them.
    return [{"Key": f'{name} "{index}"', "VersionId": f"v{index}", "Size": 1} for index in range(count)]


@pytest.mark.parametrize(("versions", "markers"), [(0, 0), (1, 0), (0, 1), (999, 3), (1000, 1000), (2500, 1001)])
def test_every_version_and_marker_goes(tmp_path: Path, versions: int, markers: int) -> None:
    """Whatever a bucket holds is gone after it, in deletions of no more keys than S3 takes."""
    held = {"Versions": _versions("step", versions), "DeleteMarkers": _versions("old", markers)}
    done, left, sizes = _destroyed(tmp_path, held)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert left == {"Versions": [], "DeleteMarkers": []}
    assert sum(sizes) == versions + markers
    assert all(0 < size <= _MOST_IN_A_DELETION for size in sizes)


def test_what_s3_keeps_ends_the_loop_with_its_name(tmp_path: Path) -> None:
    """S3 answers with success and a list of errors: the script stops and says what is kept, and why."""
    held = {"Versions": [*_versions("step", 3), {"Key": "held", "VersionId": "v", "hold": True}]}
    done, left, sizes = _destroyed(tmp_path, held)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "cluster.sh: S3 does not delete from bucket data: AccessDenied\theld\tAccess Denied" in done.stderr
    assert (len(left["Versions"]), sizes) == (1, [4])


def test_a_bucket_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """A bucket that was there before the cluster is not in the foundation's state, and nothing in it is asked for."""
    held = {"Versions": _versions("theirs", 2)}
    done, left, sizes = _destroyed(tmp_path, held, bucket="theirs")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert (len(left["Versions"]), sizes) == (2, [])
