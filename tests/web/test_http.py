"""The service over HTTP: what it answers, and what it refuses with a status and a sentence."""

import io
import json
import re
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from jsonschema import Draft202012Validator

import clusterwright as cw

from .conftest import PATIENCE_S, ROOT, Running, running, started

TRAIN = (ROOT / "blueprints" / "train-gpt3-175b.yaml").read_text()
KINDS = ("train-gpt3-175b", "serve-llama3-70b", "finetune-llama3-8b-qlora")


@pytest.fixture(scope="module")
def asked(planner: Running) -> Iterator[httpx.Client]:
    """Return a client of the planner."""
    with httpx.Client(base_url=planner.address, timeout=PATIENCE_S, trust_env=False) as client:
        yield client


def small() -> dict[str, Any]:
    """Return a blueprint of one target, as an object."""
    return {
        "name": "small",
        "workload": {
            "kind": "train",
            "model": "gpt3-175b",
            "tokens": 300e9,
            "sequence_length": 2048,
            "global_batch": 1536,
        },
        "goals": {"finish_within": "30 days"},
        "targets": {"aws": {"instance": "p5.48xlarge", "region": "us-east-1"}},
        "economics": {"as_of": "2026-10-16"},
    }


def refused(reply: httpx.Response, status: int) -> dict[str, Any]:
    """Return a refusal, which has its status and a sentence."""
    assert reply.status_code == status, reply.text[:500]
    found: dict[str, Any] = reply.json()
    assert set(found) == {"schema", "error", "help", "problems"}
    assert len(found["error"]) > 10
    assert "Traceback" not in reply.text
    return found


def test_a_plan_is_that_of_the_python_interface(asked: httpx.Client) -> None:
    """The plan of an object, of YAML text and of a body of YAML are each what the interface answers."""
    expected = cw.plan(small()).to_dict()
    text = json.dumps(small())
    assert asked.post("plan", json={"blueprint": small()}).json() == expected
    assert asked.post("plan", json={"blueprint": text}).json() == expected
    body = asked.post("plan", content=text, headers={"Content-Type": "application/yaml"})
    assert body.json() == expected


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_workload_is_answered(asked: httpx.Client, name: str) -> None:
    """The page's answer has the recommendation in words, a table with numbers to ask for, and charts."""
    reply = asked.post("answer", json={"blueprint": (ROOT / "blueprints" / f"{name}.yaml").read_text()}).json()
    assert reply["html"].count("<svg") >= 2
    assert reply["html"].count('data-number="run_usd"') >= 1
    assert set(reply["figures"]) >= {"aws"}


def test_numbers_that_are_shown_can_be_explained(asked: httpx.Client) -> None:
    """Each number that the page offers to explain has an explanation; all of a target are given at once."""
    html = asked.post("answer", json={"blueprint": small()}).json()["html"]
    offered = {part.split('"')[0] for part in html.split('data-number="')[1:]} - {""}
    assert {"run_usd", "nodes", "calendar_days", "aws/p5.48xlarge"} <= offered
    for number in offered:
        found = asked.post("explain", json={"blueprint": small(), "on": "aws", "number": number}).json()["numbers"]
        assert len(found) == 1, number
        assert found[0]["equation"], number
    every = asked.post("explain", json={"blueprint": small(), "on": "aws"}).json()["numbers"]
    assert offered <= {entry["number"] for entry in every}


def test_compare_diff_prices_and_names(asked: httpx.Client) -> None:
    """The other questions give what the commands print as JSON."""
    compared = asked.post("compare", json={"blueprint": small(), "draws": 50}).json()
    assert len(compared["ranking"]) > 3
    more = small()
    more["workload"]["tokens"] = 600e9
    found = asked.post("diff", json={"before": small(), "blueprint": more}).json()
    assert found["same"] is False
    assert [cause["path"] for cause in found["causes"]["alone"]] == ["workload.tokens"]
    prices = asked.get("prices", params={"name": "h100", "as_of": "2026-10-16"}).json()
    assert prices == json.loads(json.dumps(cw.prices("h100", as_of="2026-10-16").to_dict(), default=str))
    assert "p5.48xlarge" in asked.post("names", json={}).json()["targets.aws.instance"]


def test_the_build_is_a_zip_of_every_file(asked: httpx.Client, tmp_path: Path) -> None:
    """The zip holds the files of `build` with their bits, below one folder, and is the same each time."""
    reply = asked.post("build", json={"blueprint": small()})
    assert reply.headers["content-type"] == "application/zip"
    assert "small.zip" in reply.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(reply.content)) as packed:
        assert packed.testzip() is None
        names = packed.namelist()
        expected = cw.plan(small()).build(tmp_path / "out")
        written = {
            path.relative_to(tmp_path / "out").as_posix() for path in expected.folder.rglob("*") if path.is_file()
        }
        assert {name.removeprefix("small/") for name in names} == {name for name in written if name != ".written.json"}
        assert packed.getinfo("small/aws/cluster.sh").external_attr >> 16 & 0o111
    assert asked.post("build", json={"blueprint": small()}).content == reply.content


def test_mistakes_are_reported_at_their_fields_all_at_once(asked: httpx.Client) -> None:
    """A pasted blueprint with mistakes gives each with path, line and what to do."""
    found = refused(
        asked.post("plan", json={"blueprint": TRAIN.replace("tokens: 300e9", "tokens: many\n  tokns: 1")}), 422
    )
    assert {problem["path"] for problem in found["problems"]} == {"workload.tokens", "workload.tokns"}
    assert all(problem["line"] and problem["help"] for problem in found["problems"])
    unknown = small() | {"targets": {"aws": {"instance": "p9.huge", "region": "us-east-1"}}}
    found = refused(asked.post("plan", json={"blueprint": unknown}), 422)
    assert [problem["path"] for problem in found["problems"]] == ["targets.aws.instance"]


@pytest.mark.parametrize(
    ("path", "section"),
    [
        ("workload.model", {"config": "../../../etc/passwd"}),
        ("workload.model", {"config": "pyproject.toml"}),
        ("targets.onprem.parts", "/etc/passwd"),
        ("traffic.trace", "README.md"),
    ],
)
def test_no_path_of_the_server_is_taken(asked: httpx.Client, path: str, section: object) -> None:
    """Keys that name files are refused at their place, whatever the file, and nothing of a file is shown."""
    given = small()
    if path.startswith("targets"):
        given["targets"]["onprem"] = {"system": "dgx-h100"}
    if path.startswith("traffic"):
        given = cw.load(ROOT / "blueprints" / "serve-llama3-70b.yaml").to_dict()
    node = given
    for part in path.split(".")[:-1]:
        node = node[part]
    node[path.rsplit(".", maxsplit=1)[-1]] = section
    for operation in ("plan", "build", "answer", "compare", "explain"):
        found = refused(asked.post(operation, json={"blueprint": given}), 422)
        assert any(problem["path"].startswith(path) for problem in found["problems"]), operation
        assert "names a file" in json.dumps(found)
        assert "root:" not in json.dumps(found)
    found = refused(asked.post("diff", json={"before": given, "blueprint": small()}), 422)
    assert "names a file" in json.dumps(found)


def test_a_stale_link_says_what_it_cannot_restore(asked: httpx.Client) -> None:
    """Keys of another version are left out and named; what is wrong otherwise stays, to be mended at its field."""
    old = small()
    old["goals"]["finish_by"] = "soon"
    old["workload"]["tokens"] = "many"
    found = asked.post("read", json={"blueprint": old}).json()
    assert found["left_out"] == ["goals.finish_by"]
    assert "finish_by" not in found["values"]["goals"]
    assert [problem["path"] for problem in found["problems"]] == ["workload.tokens"]


def test_lengths_in_short_form_fill_their_fields(asked: httpx.Client) -> None:
    """One number for all lengths is in the form as its mean and P95."""
    text = "name: chat\nworkload: {kind: serve, model: llama-3.1-8b}\ntraffic: {requests_per_s: 2, input_tokens: 900}\n"
    values = asked.post("read", json={"blueprint": text}).json()["values"]
    assert values["traffic"] == {"requests_per_s": 2, "input_tokens": {"mean": 900, "p95": 900}}


def test_yaml_goes_in_and_out(asked: httpx.Client) -> None:
    """What is written from a form's values is read back as the same values."""
    values = asked.post("read", json={"blueprint": TRAIN}).json()["values"]
    text = asked.post("write", json={"blueprint": values}).json()["text"]
    assert asked.post("read", json={"blueprint": text}).json() == {"values": values, "left_out": [], "problems": []}


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"{", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"blueprint": 7}', "application/json", 400),
        (b'{"blueprint": ""}', "application/json", 400),
        (b'{"blueprint": "a: [b"}', "application/json", 422),
        (b'{"blueprint": "x: 1", "on": 7}', "application/json", 400),
        (b"name: x", "text/plain", 415),
        (b"name: x", "", 415),
        (b"a" * 500_000, "application/json", 413),
        (json.dumps({"blueprint": "#" * 200_000}).encode(), "application/json", 400),
    ],
)
def test_what_cannot_be_read_is_refused(asked: httpx.Client, body: bytes, media: str, status: int) -> None:
    """A body that is no blueprint, or too large, gets a status and a sentence."""
    refused(asked.post("plan", content=body, headers={"Content-Type": media} if media else {}), status)


def test_a_slow_request_is_given_up(asked: httpx.Client) -> None:
    """A body that does not arrive within the limit is answered with 408."""
    host, port = asked.base_url.host, asked.base_url.port
    assert port is not None
    with socket.create_connection((host, port), timeout=PATIENCE_S) as line:
        line.sendall(
            f"POST /plan HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{".encode()
        )
        assert line.recv(64).startswith(b"HTTP/1.1 408")


def test_pages_of_other_sites_and_other_names_are_refused(asked: httpx.Client) -> None:
    """A request from a page of another site, or by a name that was pointed here, is refused; headers hold the page."""
    body = {"blueprint": small()}
    refused(asked.post("plan", json=body, headers={"Origin": "http://elsewhere.test"}), 403)
    refused(asked.post("plan", json=body, headers={"Origin": "null"}), 403)
    refused(asked.get("", headers={"Host": "elsewhere.test"}), 403)
    policy = asked.get("").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "access-control-allow-origin" not in asked.options("plan").headers


def test_the_page_loads_nothing_from_elsewhere(asked: httpx.Client) -> None:
    """Page, style and script name no other host."""
    for name in ("", "planner.css", "planner.js"):
        reply = asked.get(name)
        assert reply.status_code == 200
        assert not re.findall(r"""(?:src|href|url|import|fetch)\W{1,3}(?:https?:)?//[^"']*""", reply.text), name
    assert asked.get("examples/../../pyproject.toml").status_code == 404
    assert asked.get("examples/..%2F..%2Fpyproject.toml").status_code == 404


def test_the_openapi_document_describes_every_address(asked: httpx.Client) -> None:
    """The document names the addresses, its references resolve, and its schema takes a blueprint that is planned."""
    found = asked.get("openapi.json").json()
    assert set(found["paths"]) == {"/plan", "/compare", "/build", "/prices", "/explain", "/diff"}
    assert found["openapi"].startswith("3.1")
    schema = {"$ref": "#/components/schemas/Blueprint", "components": found["components"]}
    checked = Draft202012Validator(schema)
    checked.validate(small())
    assert list(checked.iter_errors({"name": "x"}))


def test_others_than_this_machine_need_the_token() -> None:
    """With another host a token is made, every question needs it, and the page alone is shown without."""
    with running("--host", "0.0.0.0", "--workers", "1") as found:  # noqa: S104 - the case
        assert len(found.token) >= 24
        port = urlsplit(found.address).port
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/", timeout=PATIENCE_S, trust_env=False) as client:
            assert client.get("").status_code == 200
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": found.token[:-1]}):
                refused(client.post("plan", json={"blueprint": small()}, headers=headers), 401)
                refused(client.get("prices", headers=headers), 401)
            given = {"Authorization": f"Bearer {found.token}"}
            assert client.post("write", json={"blueprint": small()}, headers=given).status_code == 200


def test_an_answer_that_takes_too_long_is_given_up_and_the_next_is_answered() -> None:
    """After a second the process that plans is ended with 408, and another one answers the next question."""
    wide = small()
    wide["targets"] = {
        "aws": {"allowed_instances": "any", "region": "us-east-1"},
        "onprem": {"allowed_systems": "any"},
    }
    with (
        running("--workers", "1", "--limit", "1") as found,
        httpx.Client(base_url=found.address, timeout=PATIENCE_S, trust_env=False) as client,
    ):
        refused(client.post("build", json={"blueprint": wide}), 408)
        assert client.post("write", json={"blueprint": small()}).status_code == 200


def test_a_short_token_and_a_taken_port_are_refused(planner: Running) -> None:
    """A token that can be guessed, and an address in use, end the command with exit code 2."""
    for options, environment, words in (
        ((), {"CLUSTERWRIGHT_TOKEN": "short"}, "the token has 5 characters"),
        (("--port", str(urlsplit(planner.address).port)), {}, "cannot be used"),
    ):
        with pytest.raises(AssertionError, match=words):
            started(*options, **environment)
