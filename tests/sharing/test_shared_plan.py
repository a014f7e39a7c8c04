"""The plan of several workloads on one cluster, as commands give it."""

import json
import re
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.cli import answer, sharing
from clusterwright.cli.render.sharing import shared_text
from clusterwright.errors import EXIT_RULE_FAILED, InputError
from clusterwright.interface.sharing import SharedResult, plan_shared
from clusterwright.plan.facts import Facts
from clusterwright.plan.text.money import USD
from clusterwright.sharing.hours import cluster_nodes

SHIPPED = assets.root() / "blueprints" / "serve-and-finetune.yaml"
_CLOUD = ("targets.onprem=null", "targets.gcp=null")


@pytest.fixture(scope="module")
def facts() -> Facts:
    """Return the shipped facts."""
    return Facts.open()


@pytest.fixture(scope="module")
def cloud(facts: Facts) -> SharedResult:
    """Return the shipped blueprint on one cloud."""
    return plan_shared(SHIPPED, overrides=_CLOUD, facts=facts)


def test_a_run_of_the_night_takes_no_node_more(cloud: SharedResult) -> None:
    """The cluster is the service's, and what is saved is the compute of the run on that hardware alone."""
    option = cloud.plan.options[0]
    chat, weekly = option.parts
    service, run = (cloud.alone[name].plan.option("aws") for name in ("chat", "weekly"))
    assert service is not None
    assert run is not None
    assert option.nodes == service.cluster.nodes == chat.nodes
    assert option.instance == run.cluster.instance == service.cluster.instance
    assert weekly.lent_share == 1.0
    compute = sum(cost.usd for cost in run.money.horizon_breakdown if cost.category == "compute")
    assert option.saved_usd == pytest.approx(compute)
    assert option.usd == pytest.approx(sum(part.usd or 0.0 for part in option.parts))
    assert weekly.worked_node_hours == pytest.approx(
        156 * run.performance.front[0].calendar_days * 24 * run.performance.front[0].nodes
    )
    assert cloud.error is None


def test_what_is_printed_has_every_figure(cloud: SharedResult, capsys: pytest.CaptureFixture[str]) -> None:
    """Text has the answer, a row for each target and workload; JSON has what was saved."""
    text = shared_text(cloud.plan, str(SHIPPED), USD)
    assert "less than separate clusters" in text
    assert re.search(r"weekly +Sunday 00:00 to 05:00", text)
    document = sharing.document(cloud.plan)
    assert json.loads(json.dumps(document))["recommended"] == "aws"
    assert document["options"][0]["saved_usd"] > 0
    with pytest.raises(InputError, match="--details is of one workload"):
        answer.plan(SHIPPED, "all", None, as_json=False, quiet=True, details=True)
    capsys.readouterr()


def test_the_report_has_the_saving_and_each_workload_alone(cloud: SharedResult) -> None:
    """A page and a document of the shared cluster stand beside the cost report and workbook of each workload."""
    files = sharing.report_files(cloud)
    page = files["sharing.md"].content.decode()
    assert "less than separate clusters" in page
    assert "| weekly |" in page
    assert json.loads(files["sharing.json"].content)["recommended"] == "aws"
    assert {f"{name}/{file}" for name in ("chat", "weekly") for file in ("report.html", "tco.xlsx")} <= set(files)


def test_hours_claimed_beyond_the_cluster(facts: Facts, cloud: SharedResult) -> None:
    """A run at the peak needs nodes beyond max_nodes: its hours are refused at their place, with free ones to take."""
    nodes = cloud.plan.options[0].nodes
    noon = (*_CLOUD, f"targets.aws.max_nodes={nodes}", "workloads.weekly.hours.start=11")
    result = plan_shared(SHIPPED, overrides=noon, facts=facts)
    [problem] = result.problems
    assert (problem.id, problem.path) == ("WRK001", ("workloads", 1, "hours"))
    assert f"chat and weekly claim {nodes + 1} nodes on AWS at the same time" in problem.message
    assert f"max_nodes to {nodes + 1}" in (problem.help or "")
    assert "begin Monday" in (problem.help or "")
    error = result.error
    assert error is not None
    assert error.exit_code == EXIT_RULE_FAILED
    assert "serve-and-finetune.yaml:" in error.render()


def test_a_run_longer_than_its_hours(facts: Facts) -> None:
    """A goal longer than the hours leaves a run that does not end in them; the goal of the hours is met."""
    long = (*_CLOUD, "workloads.weekly.hours.hours=1", "workloads.weekly.goals.finish_within=1 days")
    result = plan_shared(SHIPPED, overrides=long, facts=facts)
    assert ("WRK002", ("workloads", 1, "hours", "hours")) in [(one.id, one.path) for one in result.problems]


def test_owned_nodes_are_bought_once(facts: Facts) -> None:
    """On premises, the shared cluster costs the service's own, and the storage of the run, and less than two."""
    result = plan_shared(SHIPPED, overrides=("targets.aws=null", "targets.gcp=null"), facts=facts)
    option = result.plan.options[0]
    service = result.alone["chat"].plan.option("onprem")
    assert service is not None
    assert service.money.horizon_usd is not None
    assert option.owned
    assert option.nodes == service.cluster.nodes
    assert option.usd is not None
    assert option.usd >= service.money.horizon_usd
    assert (option.saved_share or 0.0) > 0.1


def test_training_first_shares_with_the_service_after_it(facts: Facts, tmp_path: Path) -> None:
    """A run before the service is in other months: the larger of both suffices; one that does not end is refused."""
    text = SHIPPED.read_text().replace("  - name: chat\n", "  - name: chat\n    from_month: 2\n")
    text = re.sub(r"    hours: .*?hours: 5\n", "    runs: 20\n", text, flags=re.S)
    path = tmp_path / "later.yaml"
    path.write_text(text)
    option = plan_shared(path, overrides=_CLOUD, facts=facts).plan.options[0]
    chat, weekly = option.parts
    assert option.nodes == max(chat.nodes, weekly.nodes)
    assert weekly.lent_share == 0.0
    assert option.saved_usd == pytest.approx(0.0, abs=1e-6)
    late = plan_shared(path, overrides=(*_CLOUD, "workloads.weekly.runs=100000"), facts=facts)
    assert "WRK003" in {one.id for one in late.problems}
    assert cluster_nodes(()) == 0
