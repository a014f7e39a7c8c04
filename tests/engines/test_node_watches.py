"""What runs beside slurmd: notices of interruption, and the metric of busy accelerators; stand-ins on loopback."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

NODE_SCRIPTS = Path(__file__).parents[2] / "templates" / "node"
TOKEN = "Bearer the-token"  # noqa: S105 - of a stand-in
SCALE_SET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/gpu"


class Cloud(BaseHTTPRequestHandler):
    """Metadata services and monitoring endpoints of the three clouds, as far as the scripts use them."""

    interrupted: ClassVar[bool] = False
    published: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def answer(self, status: int, text: str = "") -> None:
        """Send one answer."""
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self) -> None:
        """Hand out AWS's token of the metadata service."""
        wanted = self.headers["X-aws-ec2-metadata-token-ttl-seconds"] and self.path == "/latest/api/token"
        self.answer(200, "aws-token") if wanted else self.answer(400)

    def do_GET(self) -> None:
        """Answer what a machine asks about itself; without the header that each cloud wants, nothing."""
        path, _, query = self.path.partition("?")
        aws = self.headers["X-aws-ec2-metadata-token"] == "aws-token"
        azure, google = self.headers["Metadata"] == "true", self.headers["Metadata-Flavor"] == "Google"
        events = [{"EventType": "Preempt"}] if self.interrupted else [{"EventType": "Freeze"}]
        grant = json.dumps({"access_token": "the-token"})
        machine = json.dumps({"location": "eastus", "resourceId": f"{SCALE_SET}/virtualMachines/7"})
        answers = {
            "/latest/meta-data/spot/instance-action": (aws and self.interrupted, '{"action": "terminate"}'),
            "/metadata/scheduledevents": (azure and "api-version" in query, json.dumps({"Events": events})),
            "/metadata/identity/oauth2/token": (azure and "monitoring.azure.com" in query, grant),
            "/metadata/instance/compute": (azure, machine),
            "/computeMetadata/v1/instance/preempted": (google, "TRUE" if self.interrupted else "FALSE"),
            "/computeMetadata/v1/instance/service-accounts/default/token": (google, grant),
            "/computeMetadata/v1/project/project-id": (google, "my-project"),
            "/computeMetadata/v1/instance/id": (google, "4711"),
            "/computeMetadata/v1/instance/zone": (google, "projects/1/zones/us-central1-a"),
        }
        known, text = answers.get(path, (False, ""))
        self.answer(200, text) if known else self.answer(404)

    def do_POST(self) -> None:
        """Keep a published metric."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != TOKEN:
            self.answer(403)
            return
        self.published.append((self.path, body))
        self.answer(200, "{}")


@pytest.fixture
def cloud() -> Iterator[tuple[type[Cloud], str]]:
    """Return the stand-in cloud, quiet, and its address on loopback."""
    Cloud.interrupted, Cloud.published = False, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cloud)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Cloud, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def start(tmp_path: Path, cloud: tuple[type[Cloud], str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a script with stand-ins for programs; what still runs is ended afterwards."""
    started: list[subprocess.Popen[str]] = []
    programs = tmp_path / "bin"
    programs.mkdir()

    def run(
        script: str, *arguments: str, programs_: dict[str, str] | None = None, **more: str
    ) -> subprocess.Popen[str]:
        for name, body in (programs_ or {}).items():
            (programs / name).write_text(f"#!/bin/bash\n{body}\n")
            (programs / name).chmod(0o755)
        variables = {
            "CLOUD": "local",
            "ROLE": "compute",
            "NAME": "trial",
            "PARTITION": "gpu",
            "CONTROLLER_ADDRESS": "10.0.0.1",
            "SECRET_ID": "key",
            "NODE_COUNT": "4",
            "GPUS_PER_NODE": "8",
            "GPU_TYPE": "h100",
            "FABRIC": "none",
            "REGION": "us-east-1",
            "METADATA_URL": cloud[1],
            "METRIC_ENDPOINT": cloud[1],
            "INTERRUPTION_POLL_S": "0.05",
            "METRIC_EVERY_S": "60",
            **more,
        }
        env = tmp_path / "node.env"
        env.write_text("".join(f"CLUSTER_{name}='{value}'\n" for name, value in variables.items()))
        environment = {f"CLUSTER_{name}": value for name, value in variables.items()}
        process = subprocess.Popen(
            ["bash", str(NODE_SCRIPTS / script), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={"PATH": f"{programs}:{os.environ['PATH']}", "CLUSTER_NODE_ENV": str(env), **environment},
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, 9)
        process.communicate()


@pytest.mark.parametrize("name", ["aws", "azure", "gcp"])
def test_a_notice_drains_the_node_and_hands_its_jobs_back(
    start: Callable[..., subprocess.Popen[str]], cloud: tuple[type[Cloud], str], tmp_path: Path, name: str
) -> None:
    """Nothing happens while there is no notice; then the node drains, and its job may save and is queued again."""
    log, polls = tmp_path / "log", tmp_path / "polls"
    programs = {
        "scontrol": f'[ "$1" = show ] && echo Restarts=0 || echo "scontrol $*" >>{log}',
        "scancel": f'echo "scancel $*" >>{log}; touch {tmp_path}/ended',
        "squeue": f'case "$*" in *nodelist=gpu-7*) echo 42 ;; *) [ -e {tmp_path}/ended ] || echo RUNNING ;; esac',
        # `sleep infinity` is the end of the watch.
        "sleep": f'if [ "$1" = infinity ]; then exit 0; fi; echo >>{polls}; exec /bin/sleep "$1"',
        "hostname": "echo gpu-7",
    }
    watch = start("interruption.sh", programs_=programs, CLOUD=name)
    while not (polls.exists() and len(polls.read_text()) >= 3):
        assert watch.poll() is None
    quiet = log.exists()
    cloud[0].interrupted = True
    output, _ = watch.communicate(timeout=30)
    assert watch.returncode == 0, output
    assert not quiet
    assert log.read_text().splitlines() == [
        "scontrol update nodename=gpu-7 state=drain reason=spot: taken back by the cloud",
        "scancel --signal=TERM 42",
        "scontrol requeue 42",
    ]


def test_a_job_that_was_queued_again_already_is_left_alone(
    start: Callable[..., subprocess.Popen[str]], cloud: tuple[type[Cloud], str], tmp_path: Path
) -> None:
    """Of two nodes of one job that are taken back, the second must not end the job's new life."""
    log = tmp_path / "log"
    programs = {
        "scontrol": f'[ "$1" = show ] && cat {tmp_path}/restarts || echo "scontrol $*" >>{log}',
        "scancel": f"echo Restarts=1 >{tmp_path}/restarts",
        "squeue": 'case "$*" in *nodelist=gpu-7*) echo 42 ;; *) echo PENDING ;; esac',
        "sleep": 'if [ "$1" = infinity ]; then exit 0; fi; exec /bin/sleep "$1"',
        "hostname": "echo gpu-7",
    }
    (tmp_path / "restarts").write_text("Restarts=0\n")
    cloud[0].interrupted = True
    start("interruption.sh", programs_=programs, CLOUD="aws").communicate(timeout=30)
    assert "requeue" not in log.read_text()


def test_a_metadata_service_that_does_not_answer_is_no_notice(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """An outage of the metadata service drains nothing."""
    polls = tmp_path / "polls"
    sleep = f'echo >>{polls}; if [ "$(wc -l <{polls})" -ge 3 ]; then kill "$PPID"; fi; exec /bin/sleep "$1"'
    for name in ("aws", "azure", "gcp"):
        polls.unlink(missing_ok=True)
        watch = start(
            "interruption.sh",
            programs_={"scontrol": f"touch {tmp_path}/drained", "sleep": sleep},
            CLOUD=name,
            METADATA_URL="http://127.0.0.1:9",
        )
        watch.communicate(timeout=30)
        assert len(polls.read_text().splitlines()) >= 3
    assert not (tmp_path / "drained").exists()


@pytest.mark.parametrize(
    ("printed", "busy"),
    [("0\n0\n0\n", "0"), ("97\n0\n3\n", "2"), (" 100\n 100\n", "2")],
    ids=["idle", "two of three", "all"],
)
def test_busy_gpus_are_counted(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, printed: str, busy: str
) -> None:
    """A GPU with any utilisation is busy; zero busy GPUs is a value that is published too."""
    file = tmp_path / "metric"
    programs = {"nvidia-smi": f"printf '{printed}'", "sleep": "exit 1"}
    start("busy_gpus.sh", programs_=programs, METRIC_FILE=str(file)).communicate(timeout=30)
    assert file.read_text() == f"{busy}\n"


@pytest.mark.parametrize("printed", ["exit 9", "echo '[N/A]'", "true"], ids=["fails", "not a number", "nothing"])
def test_what_cannot_be_counted_is_not_published(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, printed: str
) -> None:
    """A driver that fails must never look like an idle cluster."""
    file = tmp_path / "metric"
    programs = {"nvidia-smi": printed, "sleep": "exit 1"}
    output, _ = start("busy_gpus.sh", programs_=programs, METRIC_FILE=str(file)).communicate(timeout=30)
    assert "cannot be read" in output
    assert not file.exists()


def test_the_metric_reaches_each_cloud(
    start: Callable[..., subprocess.Popen[str]], cloud: tuple[type[Cloud], str], tmp_path: Path
) -> None:
    """Each cloud gets the number under the cluster's name, with the machine's own identity."""
    log = tmp_path / "log"
    for name in ("aws", "azure", "gcp"):
        process = start(f"metric_{name}.sh", "5", programs_={"aws": f'echo "$*" >>{log}'})
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0, output
    dimensions = "--namespace gpu-cluster --metric-name BusyGpus --dimensions Cluster=trial --unit Count --value 5"
    assert log.read_text() == f"cloudwatch put-metric-data --region us-east-1 {dimensions}\n"
    (azure_path, azure), (google_path, google) = cloud[0].published
    assert azure_path == f"{SCALE_SET}/metrics"
    series = {"dimValues": ["trial"], "min": 5, "max": 5, "sum": 5, "count": 1}
    named = {"metric": "BusyGpus", "namespace": "gpu-cluster", "dimNames": ["Cluster"], "series": [series]}
    assert azure["data"] == {"baseData": named}
    assert google_path == "/v3/projects/my-project/timeSeries"
    (point,) = google["timeSeries"]
    assert point["metric"]["labels"] == {"cluster": "trial"}
    assert point["resource"]["labels"]["zone"] == "us-central1-a"
    assert point["points"][0]["value"] == {"int64Value": "5"}
