"""What runs beside slurmd: notices of interruption, and the metric of busy accelerators; stand-ins on loopback."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl

import pytest

NODE_SCRIPTS = Path(__file__).parents[2] / "templates" / "node"
POD_SCRIPTS = Path(__file__).parents[2] / "stacks" / "kubernetes" / "node"
TOKEN = "Bearer the-token"  # noqa: S105 - of a stand-in
#: What Microsoft's identity platform wants for the token of a service account.
FORM = {
    "grant_type": "client_credentials",
    "client_id": "the-client",
    "scope": "https://monitoring.azure.com/.default",
    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    "client_assertion": "the-assertion",
}
KUBERNETES = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/trial"
SCALE_SET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/gpu"


class Cloud(BaseHTTPRequestHandler):
    """Metadata services, monitoring endpoints and an exporter of figures, as far as the scripts use them."""

    interrupted: ClassVar[bool] = False
    figures: ClassVar[str] = ""
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
            "/metrics": (bool(self.figures), self.figures),
            "/computeMetadata/v1/instance/zone": (google, "projects/1/zones/us-central1-a"),
        }
        known, text = answers.get(path, (False, ""))
        self.answer(200, text) if known else self.answer(404)

    def do_POST(self) -> None:
        """Keep a published metric; change a workload identity's token for one of the service."""
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/tenant/oauth2/v2.0/token":
            form = dict(parse_qsl(sent)) if self.headers["Content-Type"] == "application/x-www-form-urlencoded" else {}
            good = form == FORM
            self.answer(200, json.dumps({"access_token": "the-token"})) if good else self.answer(400)
            return
        body = json.loads(sent)
        if self.headers["Authorization"] != TOKEN:
            self.answer(403)
            return
        self.published.append((self.path, body))
        self.answer(200, "{}")


@pytest.fixture
def cloud() -> Iterator[tuple[type[Cloud], str]]:
    """Return the stand-in cloud, quiet, and its address on loopback."""
    Cloud.interrupted, Cloud.figures, Cloud.published = False, "", []
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
            "GPUS_PER_NODE": "8",
            "GPU_TYPE": "h100",
            "FABRIC": "none",
            "REGION": "us-east-1",
            "METADATA_URL": cloud[1],
            "METRIC_ENDPOINT": cloud[1],
            "INTERRUPTION_POLL_S": "0.05",
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
    output, _ = watch.communicate(timeout=120)
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
    start("interruption.sh", programs_=programs, CLOUD="aws").communicate(timeout=120)
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
        watch.communicate(timeout=120)
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
    start("busy_gpus.sh", programs_=programs, METRIC_FILE=str(file)).communicate(timeout=120)
    assert file.read_text() == f"{busy}\n"


@pytest.mark.parametrize("printed", ["exit 9", "echo '[N/A]'", "true"], ids=["fails", "not a number", "nothing"])
def test_what_cannot_be_counted_is_not_published(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, printed: str
) -> None:
    """A driver that fails must never look like an idle cluster."""
    file = tmp_path / "metric"
    programs = {"nvidia-smi": printed, "sleep": "exit 1"}
    output, _ = start("busy_gpus.sh", programs_=programs, METRIC_FILE=str(file)).communicate(timeout=120)
    assert "cannot be read" in output
    assert not file.exists()


def test_the_metric_reaches_each_cloud(
    start: Callable[..., subprocess.Popen[str]], cloud: tuple[type[Cloud], str], tmp_path: Path
) -> None:
    """Each cloud gets the number under the cluster's name, with the machine's own identity."""
    log = tmp_path / "log"
    for name in ("aws", "azure", "gcp"):
        process = start(f"metric_{name}.sh", "5", programs_={"aws": f'echo "$*" >>{log}'})
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    dimensions = (
        "--namespace gpu-cluster/trial --metric-name BusyGpus --dimensions Cluster=trial --unit Count --value 5"
    )
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


def test_reports_fall_on_full_periods(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    """What a report itself takes comes off the wait, or a day of reports would be one short and never idle."""
    waits = tmp_path / "waits"
    programs = {"nvidia-smi": "/bin/sleep 1.1; echo 0", "sleep": f'echo "$1" >>{waits}; exit 1'}
    start("busy_gpus.sh", programs_=programs, METRIC_FILE=str(tmp_path / "m")).communicate(timeout=120)
    (wait,) = waits.read_text().split()
    assert int(wait) < 300


def neuron_report(*runtimes: dict[str, float], error: str = "") -> str:
    """Return a line of `neuron-monitor`: utilisation by core of each runtime."""
    return json.dumps(
        {
            "neuron_runtime_data": [
                {
                    "pid": 7,
                    "error": error,
                    "report": {
                        "neuroncore_counters": {
                            "neuroncores_in_use": {
                                core: {"neuroncore_utilization": percent} for core, percent in cores.items()
                            },
                            "error": "",
                        }
                    },
                }
                for cores in runtimes
            ],
            "neuron_hardware_info": {"neuron_device_count": 2, "neuroncore_per_device_count": 4, "error": ""},
        }
    )


@pytest.mark.parametrize(
    ("reports", "busy"),
    [
        ([neuron_report()] * 3, "0"),
        ([neuron_report(), neuron_report({"0": 0, "5": 0.4})] * 2, "1"),
        ([neuron_report({"0": 12, "7": 99}, {"1": 0})] * 3, "2"),
        ([neuron_report({"0": 0})] * 2 + [neuron_report({"3": 55.5})], "1"),
    ],
    ids=["no runtime", "first report says nothing", "two cores", "one core, in the last report"],
)
def test_busy_neuron_cores_are_counted(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, reports: list[str], busy: str
) -> None:
    """Each core once, whoever names it; a first report that lacks what runs decides nothing."""
    file, lines = tmp_path / "metric", tmp_path / "lines"
    lines.write_text("".join(f"{line}\n" for line in reports))
    programs = {"neuron-monitor": f"cat {lines}; while echo; do /bin/sleep 0.1; done", "sleep": "exit 1"}
    start("busy_gpus.sh", programs_=programs, METRIC_FILE=str(file)).communicate(timeout=120)
    assert file.read_text() == f"{busy}\n"


@pytest.mark.parametrize(
    "reports",
    [[], [neuron_report()], [neuron_report({"0": 0}, error="cannot attach")] * 3, ["{}"] * 3, ["no"] * 3],
    ids=["nothing", "too few", "a runtime that cannot be read", "no hardware", "no JSON"],
)
def test_trainium_that_cannot_be_read_is_not_idle(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, reports: list[str]
) -> None:
    """A monitor that ends or fails must never look like idle cores."""
    file, lines = tmp_path / "metric", tmp_path / "lines"
    lines.write_text("".join(f"{line}\n" for line in reports))
    programs = {"neuron-monitor": f"cat {lines}", "sleep": "exit 1"}
    output, _ = start("busy_gpus.sh", programs_=programs, METRIC_FILE=str(file)).communicate(timeout=120)
    assert "cannot be read" in output
    assert not file.exists()


def figures(*percents: int, more: str = "") -> str:
    """Return what NVIDIA's exporter prints of the GPUs of a node, among other figures."""
    lines = "".join(
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="{place}",UUID="GPU-{place}",pci_bus_id="00:{place}",Hostname="n"}} {percent}\n'
        f'DCGM_FI_DEV_MEM_COPY_UTIL{{gpu="{place}",UUID="GPU-{place}"}} 50\n'
        for place, percent in enumerate(percents)
    )
    return f"# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n{lines}{more}"


@pytest.fixture
def pod(tmp_path: Path, cloud: tuple[type[Cloud], str]) -> Callable[..., str]:
    """Return a function that runs one report as a pod does: its scripts alone in a folder, no node.env."""
    folder, programs = tmp_path / "scripts", tmp_path / "programs"
    for path in (folder, programs):
        path.mkdir()
    for name in ("busy_gpus.sh", "http.sh", "metric_aws.sh", "metric_azure.sh", "metric_gcp.sh", "metric_local.sh"):
        (folder / name).write_text((NODE_SCRIPTS / name).read_text())
    (folder / "environment.sh").write_text((POD_SCRIPTS / "environment.sh").read_text())
    # The loop ends with the first wait.
    (programs / "sleep").write_text("#!/bin/bash\nexit 1\n")
    (programs / "sleep").chmod(0o755)

    def run(**more: str) -> str:
        variables = {
            "CLUSTER_CLOUD": "local",
            "CLUSTER_NAME": "trial",
            "CLUSTER_GPUS_PER_NODE": "4",
            "CLUSTER_GPU_FIGURES_URL": f"{cloud[1]}/metrics",
            "CLUSTER_METADATA_URL": cloud[1],
            "CLUSTER_METRIC_ENDPOINT": cloud[1],
            "CLUSTER_METRIC_FILE": str(tmp_path / "metric"),
            **more,
        }
        done = subprocess.run(
            ["bash", str(folder / "busy_gpus.sh")],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={"PATH": f"{programs}:{os.environ['PATH']}", **variables},
        )
        return done.stderr

    return run


SHARED = 'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-0",container="a",pod="b"} 80\n'


@pytest.mark.parametrize(
    ("printed", "busy"),
    [
        (figures(0, 0, 0, 0), "0"),
        (figures(0, 97, 3, 0), "2"),
        (figures(0, 0, 0, 0, more=SHARED), "1"),
        (figures(100, 100, 100, 100, more=SHARED), "4"),
    ],
    ids=["idle", "two of four", "a shared one", "all"],
)
def test_a_pod_counts_the_gpus_of_its_node(
    pod: Callable[..., str], cloud: tuple[type[Cloud], str], tmp_path: Path, printed: str, busy: str
) -> None:
    """From the exporter's figures; a GPU that pods share is one, and other figures are none."""
    cloud[0].figures = printed
    assert pod() == ""
    assert (tmp_path / "metric").read_text() == f"{busy}\n"


@pytest.mark.parametrize(
    "printed",
    ["", figures(), figures(0, 0, 0), figures(0, 0, 0).replace(" 0\n", " nan\n")],
    ids=["no exporter", "no GPU", "one GPU missing", "not a number"],
)
def test_a_pod_without_figures_publishes_nothing(
    pod: Callable[..., str], cloud: tuple[type[Cloud], str], tmp_path: Path, printed: str
) -> None:
    """An exporter that is down, or a GPU that it does not see, must never look like an idle node."""
    cloud[0].figures = printed
    assert "cannot be read" in pod()
    assert not (tmp_path / "metric").exists()


def test_a_pod_publishes_by_its_workload_identity(
    pod: Callable[..., str], cloud: tuple[type[Cloud], str], tmp_path: Path
) -> None:
    """On AKS for the cluster, with the node's pool; on GKE as a machine does, by the metadata server of the node."""
    cloud[0].figures = figures(0, 97, 3, 0)
    assertion = tmp_path / "assertion"
    assertion.write_text("the-assertion")
    identity = {
        "AZURE_CLIENT_ID": "the-client",
        "AZURE_TENANT_ID": "tenant",
        "AZURE_AUTHORITY_HOST": f"{cloud[1]}/",
        "AZURE_FEDERATED_TOKEN_FILE": str(assertion),
    }
    told = {"REGION": "eastus", "METRIC_RESOURCE": KUBERNETES, "NODE": "aks-gpu0-31415926-vmss00000a"}
    assert pod(CLUSTER_CLOUD="azure", **identity, **{f"CLUSTER_{name}": value for name, value in told.items()}) == ""
    assert pod(CLUSTER_CLOUD="gcp") == ""
    (azure_path, azure), (google_path, _) = cloud[0].published
    assert azure_path == f"{KUBERNETES}/metrics"
    series = {"dimValues": ["trial", "gpu0"], "min": 2, "max": 2, "sum": 2, "count": 1}
    named = {"metric": "BusyGpus", "namespace": "gpu-cluster", "dimNames": ["Cluster", "Pool"], "series": [series]}
    assert azure["data"] == {"baseData": named}
    assert google_path == "/v3/projects/my-project/timeSeries"
    # A token that is not this pod's publishes nothing, and says so.
    assertion.write_text("another")
    assert "could not be published" in pod(
        CLUSTER_CLOUD="azure", **identity, **{f"CLUSTER_{name}": value for name, value in told.items()}
    )
    assert len(cloud[0].published) == 2
