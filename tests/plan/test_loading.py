"""The blueprint's sections `data` and `storage` from the file to the plan."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.planning import plan_of
from clusterwright.explain.explanation import find
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from tests.opened import explanations

BLUEPRINT = """\
name: pictures
workload:
  kind: train
  model: llama-2-7b
  tokens: 200e9
  sequence_length: 2048
  global_batch: 512
targets:
  {target}:
    {hardware}
    max_nodes: 8
{more}"""
HARDWARE = {
    "aws": "instance: p5.48xlarge\n    region: us-east-1",
    "azure": "instance: Standard_ND96isr_H100_v5\n    region: eastus",
    "gcp": "instance: a3-highgpu-8g\n    region: us-central1",
    "onprem": "system: dgx-b300",
}
#: Samples of 4 MB that one process prepares in a second.
PICTURES = "data:\n  bytes_per_sample: 4 MB\n  worker_samples_per_s: 1\n"


@pytest.fixture
def planned(tmp_path: Path):  # noqa: ANN201 - a function
    """Return a function that plans a blueprint with more sections."""

    def plan(more: str = "", *, target: str = "aws", values: tuple[str, ...] = ()) -> TrainingPlan:
        path = tmp_path / "pictures.yaml"
        path.write_text(BLUEPRINT.format(target=target, hardware=HARDWARE[target], more=more))
        # A few epochs of 20 TB, so that capacity does not decide.
        dataset = ["storage.dataset=20 TB"] if "data:" in more else []
        return plan_of(path, [*dataset, *values])

    return plan


def only(plan: TrainingPlan) -> TrainingOption:
    """Return the only option."""
    (option,) = plan.options
    return option


def test_text_waits_for_nothing(planned) -> None:  # noqa: ANN001
    """Without a section `data` the plan tells what is read, and no time is lost."""
    option = only(planned())
    assert (
        option.performance.step.data_loading_s
        == option.performance.data.stall_s
        == option.performance.data.startup_s
        == option.performance.data.restart_s
        == 0
    )
    assert option.performance.data.bytes_per_token == 2
    assert option.performance.data.read_bytes_per_s == pytest.approx(512 * 2048 * 2 / option.performance.step.total_s)
    assert option.design.storage.dataset_bytes == 400e9


#: What the advice says, and the key that follows it.
ADVICE = (
    (r"set data.workers to (\d+)", "data.workers"),
    (r"set data.prefetch to (\d+)", "data.prefetch"),
    (r"one process gives ([\d.]+) samples/s", "data.worker_samples_per_s"),
    (r"one process gives ([\d.]+ [kMG]B/s)", "data.worker_bandwidth"),
    (r"local drives read ([\d.]+ [kMG]B/s)", "data.local_nvme_bandwidth"),
    (r"give each node ([\d.]+ [kMG]B/s)", "storage.node_read_bandwidth"),
    (r"storage.read_bandwidth to ([\d.]+ [kMG]B/s)", "storage.read_bandwidth"),
)
SLOW = "storage:\n  read_bandwidth: 100 MB/s\n"


def followed(help_text: str) -> tuple[str, ...]:
    """Return the overrides that do what the advice of `DAT001` says."""
    found = ((key, re.search(pattern, help_text)) for pattern, key in ADVICE)
    return tuple(f"{key}={match[1]}" for key, match in found if match is not None)


@pytest.mark.parametrize(
    ("more", "advised"),
    [
        (PICTURES, ("data.workers",)),
        (PICTURES + "  workers: 0\n", ("data.workers",)),
        (PICTURES + "  workers: 4\n", ("data.workers",)),
        (PICTURES + "  prefetch: 0\n", ("data.workers", "data.prefetch")),
        (PICTURES.replace(": 1\n", ": 0.01\n"), ("data.workers", "data.worker_samples_per_s")),
        (
            "data:\n  bytes_per_sample: 200 MB\n  worker_bandwidth: 20 MB/s\n",
            ("data.workers", "data.worker_bandwidth"),
        ),
        (PICTURES + "  workers: 24\n" + SLOW, ("storage.read_bandwidth",)),
        (PICTURES + SLOW, ("data.workers", "storage.read_bandwidth")),
        (PICTURES + "  workers: 24\nstorage:\n  node_read_bandwidth: 10 MB/s\n", ("storage.node_read_bandwidth",)),
        (
            PICTURES + "  workers: 24\n  staging: nvme\n  local_nvme_bandwidth: 10 MB/s\n",
            ("data.local_nvme_bandwidth",),
        ),
    ],
)
def test_the_advice_of_waiting_ends_it(planned, more: str, advised: tuple[str, ...]) -> None:  # noqa: ANN001
    """What `DAT001` says, done once, leaves no wait, though another layout or number of nodes is then chosen."""
    waiting = planned(more)
    (finding,) = waiting.findings
    assert finding.id == "DAT001"
    values = followed(finding.help)
    assert tuple(value.partition("=")[0] for value in values) == advised
    fed = planned(more, values=values)
    assert not fed.findings
    assert only(fed).performance.data.stall_s <= 0.01 * only(fed).performance.step.total_s
    if "data.staging" in finding.help:
        kept = tuple(value for value in values if not value.startswith("storage."))
        # Few nodes are mostly interrupted before they have copied their part again: such a size takes ages.
        assert not planned(more, values=(*kept, "data.staging=nvme")).findings


def test_pictures_wait_for_the_processes(planned) -> None:  # noqa: ANN001
    """The finding is at the section, and the waiting is what limits the step."""
    waiting = planned(PICTURES)
    (finding,) = waiting.findings
    assert "training waits for data" in finding.message
    assert finding.path == ("data",)
    option = only(waiting)
    assert option.performance.step.data_loading_s == option.performance.data.stall_s > 0
    assert any("waiting for data" in words for words in option.performance.limited_by)


def test_without_prefetching_the_finding_says_so(planned) -> None:  # noqa: ANN001
    """Loading in the training process is all waited for, and the remedy is a process."""
    plan = planned(PICTURES + "  workers: 0\n")
    (finding,) = plan.findings
    assert "nothing is prepared while the step before runs" in finding.message
    assert finding.path == ("data", "workers")
    assert "set data.workers to" in finding.help
    option = only(plan)
    assert option.performance.data.stall_s == pytest.approx(512 / option.performance.layout.dp, rel=0.05)


def test_slow_shared_storage_is_named_with_the_bandwidth_that_would_do(planned) -> None:  # noqa: ANN001
    """`storage.read_bandwidth` sizes the file system; training waits and restarts are late; staging ends the wait."""
    slow = "storage:\n  read_bandwidth: 100 MB/s\n"
    plan = planned(PICTURES + "  workers: 24\n" + slow)
    (finding,) = plan.findings
    assert finding.path == ("storage", "read_bandwidth")
    asked = re.search(r"storage.read_bandwidth to ([\d.]+ [MG]B/s)", finding.help)
    assert asked is not None
    option = only(plan)
    assert option.performance.data.limited_by == "storage"
    assert option.design.storage.read_bytes_per_s == 100e6
    assert option.performance.data.restart_s > 0
    nodes = f"targets.aws.max_nodes={option.cluster.nodes}"
    # The bandwidth is that of the layout: one that computes faster asks for more.
    layout = option.performance.layout
    kept = (
        f"workload.parallelism={{tensor: {layout.tp}, pipeline: {layout.pp}, micro_batch: {layout.micro_batch}, "
        f"recompute: {layout.recompute}}}"
    )
    faster = planned(PICTURES + "  workers: 24\n", values=(f"storage.read_bandwidth={asked[1]}", nodes, kept))
    # What shards the optimizer may differ: times are within what makes layouts alike.
    assert replace(only(faster).performance.layout, zero_stage=layout.zero_stage) == layout
    assert only(faster).performance.step.total_s < option.performance.step.total_s
    assert only(faster).performance.data.stall_s <= 0.01 * only(faster).performance.step.total_s
    staged = only(planned(PICTURES + "  workers: 24\n  staging: nvme\n" + slow, values=(nodes,)))
    assert staged.performance.data.stall_s == 0
    assert staged.performance.data.startup_s >= staged.design.storage.dataset_bytes / 100e6 * (1 - 1e-9)
    assert staged.performance.calendar_days > staged.performance.data.startup_s / 86400


def test_a_faster_file_system_is_sized_for_data_that_asks_for_it(planned) -> None:  # noqa: ANN001
    """Samples of 200 MB need more than restarts do: shared storage is sized for them, and with staging is not."""
    heavy = "data:\n  bytes_per_sample: 200 MB\n  worker_bandwidth: 10 GB/s\n  workers: 24\n"
    streamed = only(planned(heavy))
    need = streamed.design.storage
    assert need.read_bytes_per_s == need.data_read_bytes_per_s > need.restart_read_bytes_per_s
    assert need.data_read_bytes_per_s >= streamed.performance.data.read_bytes_per_s
    assert streamed.design.file_system is not None
    assert streamed.design.file_system.bytes_per_s >= need.read_bytes_per_s
    staged = only(planned(heavy + "  staging: nvme\n"))
    assert staged.design.storage.read_bytes_per_s == staged.design.storage.restart_read_bytes_per_s
    assert staged.design.file_system is not None
    assert staged.design.file_system.bytes_per_s < streamed.design.file_system.bytes_per_s


def test_what_a_node_reads_is_a_limit_where_it_is_known(planned) -> None:  # noqa: ANN001
    """The front end of an Azure size, 80 Gb/s for all its NICs, limits what a node reads; AWS tells none."""
    heavy = "data:\n  bytes_per_sample: 2 GB\n  worker_bandwidth: 1 TB/s\n  workers: 8\n"
    plan = planned(heavy, target="azure")
    (finding,) = (entry for entry in plan.findings if entry.id == "DAT001")
    assert only(plan).performance.data.limited_by == "node"
    assert "give each node" in finding.help
    assert only(plan).performance.data.node_s is not None
    assert only(planned(heavy)).performance.data.node_s is None


def test_staging_where_drives_are_unknown_asks_for_their_size(planned) -> None:  # noqa: ANN001
    """No source gives the drives of a DGX B300: a missing fact, unless the user gives it."""
    with pytest.raises(BlueprintError) as caught:
        planned("data:\n  staging: nvme\n", target="onprem")
    assert caught.value.exit_code == 3
    assert "data.local_nvme" in caught.value.render()
    told = only(planned("data:\n  staging: nvme\n  local_nvme: 30 TB\n", target="onprem"))
    assert told.performance.data.staged
    assert told.performance.data.node_s is None


def test_drives_that_are_too_small_are_a_finding(planned) -> None:  # noqa: ANN001
    """Drives of 1 MB hold no node's part on any size."""
    with pytest.raises(BlueprintError) as caught:
        planned("data:\n  staging: nvme\n  local_nvme: 1 MB\n")
    assert caught.value.exit_code == 1
    assert "DAT002" in caught.value.render()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("data:\n  workers: -1\n", "workers"),
        ("data:\n  workers: many\n", "integer"),
        ("data:\n  prefetch: -2\n", "prefetch"),
        ("data:\n  bytes_per_token: 0 B\n", "greater than 0"),
        ("data:\n  bytes_per_token: 2\n", "has no unit"),
        ("data:\n  bytes_per_token: 2 B\n  bytes_per_sample: 4 kB\n", "keep one of"),
        ("data:\n  worker_bandwidth: 1 GB/s\n  worker_samples_per_s: 4\n", "keep one of"),
        ("data:\n  staging: disk\n", "nvme"),
        ("data:\n  wokers: 4\n", "workers"),
        ("storage:\n  read_bandwidth: 40 GB\n", "unit of size"),
    ],
)
def test_wrong_values_are_refused_with_what_to_do(planned, more: str, says: str) -> None:  # noqa: ANN001
    """Counts below their least, quantities without a unit, the same thing said twice: each named, at its place."""
    with pytest.raises(BlueprintError) as caught:
        planned(more)
    assert caught.value.exit_code == 2
    text = caught.value.render()
    assert says in text
    assert "pictures.yaml:1" in text


def calculated(line: str) -> tuple[float, float]:
    """Return both sides of the last line of an explanation, the left one calculated."""
    left, right = line.rsplit(" = ", 1)
    words = re.sub(r"\s(GB|s|days)\b|(?<=\d),(?=\d{3})", "", left.replace("×", "*"))
    assert re.fullmatch(r"(max\([\d.]+, |[-+*/().\d\se])+", words), words
    return eval(words), float(right.split()[0].replace(",", ""))  # noqa: S307 - checked above


@pytest.mark.parametrize("more", ["", "  workers: 0\n", "  workers: 24\n", "  staging: nvme\n"])
def test_every_number_is_explained_and_survives_the_file(planned, more: str) -> None:  # noqa: ANN001
    """Waiting, reading, bandwidth and starts can be calculated again; `plan.json` keeps all, twice the same."""
    plan = planned(PICTURES + more)
    option = only(plan)
    known = explanations(plan, "aws")
    values = {
        "data_loading": option.performance.data.stall_s,
        "data_read": option.performance.data.read_bytes_per_s / 1e9,
        "read_bandwidth": option.design.storage.read_bytes_per_s / 1e9,
        "startup": option.performance.data.startup_s,
        "step_time": option.performance.step.total_s,
        "calendar_days": option.performance.calendar_days,
    }
    for number, value in values.items():
        left, right = calculated(find(known, number).equation[-1])
        assert left == pytest.approx(right, rel=2e-4, abs=2e-4), number
        assert right == pytest.approx(value, rel=2e-4, abs=2e-4), number
    assert loads(dumps(plan)) == plan
    assert dumps(planned(PICTURES + more)) == dumps(plan)
