"""Deliverables of a service: what only serving has stands in its section, and all else is as for any kind."""

import html
import re

import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.outputs.deliverables import cloud_files
from clusterwright.outputs.folder import File
from clusterwright.outputs.report.comparison import comparison_markdown
from clusterwright.outputs.serving.report import cluster_table
from clusterwright.outputs.summary import readme
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Option
from clusterwright.plan.serving.record import ServingPlan, serving_plan
from clusterwright.plan.text.money import USD
from tests.opened import report_html, target_files
from tests.outputs.test_any_kind import WORD_OF_TRAINING

FACTS = Facts.open()


@pytest.fixture(scope="module")
def plan() -> ServingPlan:
    """The shipped plan of a service."""
    loaded = load(assets.root() / "blueprints" / "serve-llama3-70b.yaml")
    resolved = resolve(loaded.blueprint, FACTS.catalogue)
    assert isinstance(resolved, Resolved), resolved
    return serving_plan(decide(loaded.blueprint, resolved, FACTS))


def test_the_section_on_the_cluster_has_replicas_latencies_and_tokens(plan: ServingPlan) -> None:
    """Each target has a row with the figures of its option; prices per million tokens are those of the plan."""
    table = cluster_table(plan, USD)
    assert len(table.rows) == len(plan.options)
    for row, option in zip(table.rows, plan.options, strict=True):
        cells = dict(zip(table.columns, row, strict=True))
        assert cells["Replicas"].text == f"{option.performance.replicas:,}"
        assert cells["Output tokens/s at the peak"].text == f"{option.performance.output_tokens_per_s.value:,.0f}"
        price = option.money.usd_per_million_tokens.output
        shown = cells["USD per million output tokens"].text
        assert shown == ("unknown" if price is None else f"{price:.2f}")


def test_the_report_of_a_service_speaks_of_months_and_never_of_a_run(plan: ServingPlan) -> None:
    """What a month of service costs stands where training has a run; MFU, steps and layouts of training are absent."""
    page = report_html(plan)
    shown = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<style>.*?</style>", "", page)))
    assert "Share of a month" in shown
    assert "Time per token, P" in shown
    assert 'aria-label="Memory of an accelerator"' in page
    assert 'aria-label="Output tokens per second of an accelerator against those of a user"' in page
    assert 'aria-label="Requests per second of a day against what the replicas carry"' in page
    assert re.search(f"AWS[^:<]*: {plan.options[0].performance.replicas:,} replicas", page)
    assert f"{plan.options[0].performance.replicas:,} replicas of AWS carry this" in page
    assert re.findall(r"(?i)\b(?:this|a|one|per) runs?\b|\bmfu\b|optimizer|gradients|micro-batch", shown) == []


def test_nothing_that_is_built_for_a_service_speaks_of_training_or_counts_its_days(plan: ServingPlan) -> None:
    """A service never ends, so no table has a column of days; no page, program or configuration says training."""
    written = {f"{one.target}/{name}": file for one in plan.options for name, file in _project(plan, one).items()}
    pages = {name: file.content.decode("utf-8", "ignore") for name, file in written.items()}
    pages |= {"README.md": readme(plan, USD), "comparison": comparison_markdown(plan, USD), "report": report_html(plan)}
    pages["report"] = re.sub(r"(?s)<style>.*?</style>", "", pages["report"])
    spoken = {name: WORD_OF_TRAINING.findall(text) for name, text in pages.items()}
    assert {name: words for name, words in spoken.items() if words} == {}
    for name in ("README.md", "comparison", "report"):
        assert "30.4 days" not in pages[name]
        assert re.findall(r"(?i)\| days|>days<", pages[name]) == []


def _project(plan: ServingPlan, option: Option) -> dict[str, File]:
    return target_files(plan, option, FACTS.catalogue)


def test_the_readme_says_which_replicas_and_goals(plan: ServingPlan) -> None:
    """Its reasons name replicas and latencies with their bands, and the goals that sizes had to meet."""
    text = readme(plan, USD)
    assert "of the cluster sizes that meet the goals (first token" in text
    assert f"{plan.options[0].performance.replicas:,} replicas" in text
    assert "a month of service" in text


def test_a_clouds_stack_says_what_it_serves_with(plan: ServingPlan) -> None:
    """The project's page names the replicas; no files of a job that trains are beside it."""
    written = cloud_files(plan, plan.options[0], FACTS.catalogue, USD)
    page = written["README.md"].content.decode()
    assert f"{plan.options[0].performance.replicas:,} replicas" in page
    assert re.search(r"One month costs \$[\d,]+", page)
    assert not any("train" in name for name in written if name.startswith("launch"))
