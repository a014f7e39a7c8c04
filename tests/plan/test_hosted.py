"""A service's month on hosted models: priced from its tokens, compared and never ranked, with the limits that break."""

import datetime as dt
import html
import re
from functools import cache
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.render.answer import plan_text
from clusterwright.errors import InputError
from clusterwright.explain.explanation import find
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.facts import Facts
from clusterwright.plan.serving.record import HostedOffer, ServingPlan, serving_plan
from clusterwright.plan.text.hosted import hosted_notes, hosted_rows
from clusterwright.plan.text.money import USD
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.endpoints import endpoint_prices, endpoint_ratio
from clusterwright.pricing.hosted import ON_DEMAND, hosted_models, hosted_names, hosted_titles, token_prices
from clusterwright.sizing.serving.service import Lengths
from tests.opened import explanations, report_html

_BLUEPRINT = assets.root() / "blueprints" / "serve-llama3-70b.yaml"
_ONE = ("targets.azure=null", "targets.gcp=null", "targets.onprem=null")


@cache
def _plan(*overrides: str) -> ServingPlan:
    blueprint = load(_BLUEPRINT, (*_ONE, *overrides)).blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return serving_plan(decide(blueprint, resolved, Facts.open()))


def _of(plan: ServingPlan, provider: str) -> HostedOffer:
    return next(offer for offer in plan.hosted if offer.provider == provider)


def test_a_month_costs_its_tokens_at_the_prices_of_the_day() -> None:
    """Groq's gpt-oss-120b: half of the input is cached at 0.075 USD, the rest 0.15, output 0.60 USD a million."""
    plan = _plan("targets.api={model: gpt-oss-120b}")
    option, groq = plan.options[0], _of(plan, "Groq")
    inputs, outputs = option.performance.input_tokens_per_month / 1e6, option.performance.output_tokens_per_month / 1e6
    assert groq.usd_per_month == pytest.approx(inputs * (0.5 * 0.15 + 0.5 * 0.075) + outputs * 0.6)
    assert groq.blended_usd_per_million == pytest.approx(groq.usd_per_month / (inputs + outputs))
    assert [offer.usd_per_month for offer in plan.hosted] == sorted(offer.usd_per_month for offer in plan.hosted)


def test_a_price_that_changed_is_the_one_of_the_day() -> None:
    """Groq lowered gpt-oss-120b's output from 0.75 to 0.60 USD between January 19 and 26, 2026."""
    before, after = (
        next(one for one in hosted_models("gpt-oss-120b", dt.date.fromisoformat(day)) if one.provider == "Groq")
        for day in ("2026-01-20", "2026-02-01")
    )
    assert (before.output_usd, after.output_usd) == (0.75, 0.6)
    assert hosted_models("gpt-oss-120b", dt.date(2025, 1, 1)) == ()


def test_hosted_models_are_no_way_to_do_the_work() -> None:
    """The ranking, the answer and the options are those without targets.api; the text says that no stack is needed."""
    plan, without = _plan("targets.api={}"), _plan()
    assert plan.ranking == without.ranking
    assert plan.options == without.options
    assert plan.recommended_key == without.recommended_key
    assert without.hosted == ()
    text = " ".join(plan_text(plan, Path("chat.yaml"), money=USD).split())
    assert "they need no stack" in text
    assert "SageMaker endpoint managed" in text
    assert without.managed == ()
    assert loads(dumps(plan)) == plan


def test_a_managed_endpoint_costs_its_ratio_to_the_bare_instance() -> None:
    """On 2025-04-01 p5.48xlarge was 98.32 USD an hour bare and 113.068 behind an endpoint: 1.15 today too."""
    plan = _plan("targets.api={}", "targets.aws.allowed_instances=[p5.48xlarge]")
    (offer,), option = plan.managed, plan.options[0]
    assert offer.over_instance == pytest.approx(113.068 / 98.32)
    assert offer.seen_on == ("p5.48xlarge",)
    assert offer.usd_per_node_hour == pytest.approx(55.04 * 113.068 / 98.32)
    assert offer.usd_per_month == pytest.approx(offer.usd_per_node_hour * option.cluster.nodes * 730.0)
    tokens = option.performance.input_tokens_per_month + option.performance.output_tokens_per_month
    assert offer.blended_usd_per_million == pytest.approx(offer.usd_per_month / tokens * 1e6)


def test_an_instance_without_an_endpoint_price_takes_that_of_its_family() -> None:
    """No price of p5en behind an endpoint is known: p4d and p5, which have the same ratio, stand for it by name."""
    book = PriceBook.open()
    ratio = endpoint_ratio("aws", "p5en.48xlarge", book, dt.date(2026, 11, 1))
    assert ratio is not None
    assert ratio.seen_on == ("p4d.24xlarge", "p5.48xlarge")
    assert ratio.over_instance == pytest.approx(1.15, abs=1e-3)


@pytest.mark.parametrize(
    ("cloud", "instance", "day"),
    [
        ("azure", "Standard_ND96isr_H100_v5", dt.date(2026, 11, 1)),
        ("aws", "dl1.24xlarge", dt.date(2026, 11, 1)),
        ("aws", "p5.48xlarge", dt.date(2024, 11, 30)),
    ],
)
def test_a_ratio_that_nobody_published_is_unknown(cloud: str, instance: str, day: dt.date) -> None:
    """Neither another cloud nor another family gives it, nor a price first seen after the day that is asked about."""
    assert endpoint_ratio(cloud, instance, PriceBook.open(), day) is None


def test_a_managed_endpoint_without_a_price_says_so() -> None:
    """On Azure the months and tokens are None, and the table says unknown; a cluster of one's own has no row."""
    blueprint = load(_BLUEPRINT, ("targets.aws=null", "targets.gcp=null", "targets.api={}")).blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    plan = serving_plan(decide(blueprint, resolved, Facts.open()))
    (offer,) = plan.managed
    assert (offer.target, offer.usd_per_month, offer.blended_usd_per_million) == ("azure", None, None)
    text = " ".join(plan_text(plan, Path("chat.yaml"), money=USD).split())
    assert "Azure endpoint managed unknown" in text
    assert "their months are estimated" not in text
    assert loads(dumps(plan)) == plan


def test_every_endpoint_has_a_bare_price_of_its_day_and_a_source() -> None:
    """A ratio is never below one: the service is on top of the instance; none is above 1.4."""
    book = PriceBook.open()
    for price in endpoint_prices():
        bare = book.price(f"{price.cloud}/{price.instance}", region=price.region, as_of=price.last_seen)
        assert bare is not None, price
        assert 1.0 <= price.usd_per_hour / bare.point.usd < 1.4, price
        assert price.first_seen <= price.last_seen
        assert price.source in hosted_titles()


def test_owning_wins_from_where_its_nodes_cost_what_the_tokens_do() -> None:
    """At the breakeven the nodes cost as much a day as the tokens; a model dearer by half is beaten earlier."""
    plan = _plan("targets.api={}")
    option = plan.options[0]
    assert option.money.run_usd is not None
    node_day = option.money.run_usd / option.cluster.nodes / option.performance.calendar_days
    found = {offer.provider: offer.own_wins_from_tokens_per_day for offer in plan.hosted}
    for offer in plan.hosted:
        wins = offer.own_wins_from_tokens_per_day
        if wins is not None:
            nodes = wins * offer.blended_usd_per_million / 1e6 / node_day
            assert nodes == pytest.approx(round(nodes), rel=1e-9)
            per_node = (
                option.performance.replicas
                * option.performance.capacity_requests_per_s
                * 1800
                * 86400
                / 1.6
                / (option.cluster.nodes - 1)
            )
            assert wins <= nodes * per_node
    assert found["Lambda"] is None
    dear = found["Azure AI Foundry"]
    assert dear is not None
    assert all(wins is None or wins >= dear for wins in found.values())
    # The explanation is of the cheapest host, and its equation ends with the plan's number.
    assert find(explanations(plan, "aws"), "own_wins_from").value == "never"
    (azure,) = _plan("targets.api={providers: [Azure AI Foundry]}").hosted
    alone = find(explanations(_plan("targets.api={providers: [Azure AI Foundry]}"), "aws"), "own_wins_from")
    assert azure.own_wins_from_tokens_per_day == pytest.approx(dear)
    assert alone.equation[-1].endswith(f"= {dear:,.4g} tokens a day")
    assert alone.equation[-1].startswith(f"{dear * azure.blended_usd_per_million / 1e6 / node_day:,.4g} nodes")


def test_limits_that_the_traffic_breaks_are_warnings_with_ids() -> None:
    """Answers of up to 8,000 tokens are cut at 2,048, and an account's limits are below the peak's requests."""
    plan = _plan(
        "targets.api={requests_per_minute: 100, tokens_per_minute: 1e5, concurrent_requests: 10}",
        "traffic.output_tokens={mean: 2000, p95: 6000}",
    )
    azure = dict(_of(plan, "Azure AI Foundry").broken)
    assert set(azure) == {"API003", "API004", "API005", "API006"}
    assert "cut at 2,048 tokens" in azure["API003"]
    told = {warning.id for warning in plan.warnings if warning.id.startswith("API")}
    assert told >= set(azure)
    assert not [finding for finding in plan.findings if finding.id.startswith("API")]
    long = _plan("targets.api={}", "traffic.input_tokens={mean: 100000, p95: 250000}", "goals.first_token=60 s")
    assert "API001" in {warning.id for warning in long.warnings} or "API002" in {w.id for w in long.warnings}


def test_batches_cost_their_own_price() -> None:
    """With all requests in batches Llama 4 Scout on Bedrock costs 0.085 in and 0.33 USD out a million."""
    plan = _plan("targets.api={model: llama-4-scout, batch_share: 1.0}")
    option, bedrock = plan.options[0], _of(plan, "AWS Bedrock")
    usd = (option.performance.input_tokens_per_month * 0.085 + option.performance.output_tokens_per_month * 0.33) / 1e6
    assert bedrock.usd_per_month == pytest.approx(usd)


@pytest.mark.parametrize(
    ("override", "place", "said"),
    [
        ("targets.api={model: no-such-model}", ("targets", "api", "model"), "nobody is known who hosts"),
        ("targets.api={providers: [Nobody]}", ("targets", "api", "providers"), "no prices of nobody"),
    ],
)
def test_an_unknown_model_or_provider_names_those_that_are_known(
    override: str, place: tuple[str, ...], said: str
) -> None:
    """A name without prices is bad input at its key."""
    with pytest.raises(InputError, match=said) as held:
        _plan(override)
    assert held.value.path == place
    assert "known are" in (held.value.help or "") or "providers are" in (held.value.help or "")


def test_a_run_has_no_hosted_models() -> None:
    """targets.api is of services."""
    loaded = load(assets.root() / "blueprints" / "train-gpt3-175b.yaml", ("targets.api={}",))
    found = resolve(loaded.blueprint, load_catalogue())
    assert not isinstance(found, Resolved)
    assert [(problem.id, problem.path) for problem in found] == [("KIND001", ("targets", "api"))]


def test_prices_of_tokens_are_sound() -> None:
    """Days in order, positive prices, one a day; cached input costs no more than fresh, batches no more than now."""
    seen = set()
    for price in token_prices():
        key = (price.provider, price.product, price.what, price.term, price.first_seen)
        assert key not in seen
        seen.add(key)
        assert 0 < price.usd_per_million < 200
        assert price.first_seen <= price.last_seen
    for name in hosted_names():
        for model in hosted_models(name, dt.date(2026, 10, 1)):
            assert model.cached_input_usd is None or model.cached_input_usd <= model.input_usd
            assert model.batch_input_usd is None or model.batch_input_usd <= model.input_usd
            assert model.input_usd <= model.output_usd * 1.01
    assert {price.term for price in token_prices()} >= {ON_DEMAND}


def test_the_share_of_long_answers_is_that_of_the_distribution() -> None:
    """One in twenty is above the P95, none above where all are alike."""
    assert Lengths(mean=300, p95=900).share_above(900) == pytest.approx(0.05)
    assert (Lengths(mean=300, p95=300).share_above(299), Lengths(mean=300, p95=300).share_above(301)) == (1.0, 0.0)


def test_terminal_and_report_have_the_same_table() -> None:
    """Every amount and note is in both, unknown ones too; without `targets.api` neither has the table."""
    plan = _plan("targets.api={}")
    page = html.unescape(re.sub(r"<[^>]+>", " ", report_html(plan))).replace("\xa0", " ")
    text = " ".join(plan_text(plan, Path("chat.yaml"), money=USD).split())
    rows = hosted_rows(plan, USD)
    assert {row[1] for row in rows} == {"own", "managed", "hosted"}
    for row in rows:
        assert all(cell in page and cell in text for cell in row if cell), row
    assert hosted_notes(plan)
    assert all(note in " ".join(page.split()) and note in text for note in hosted_notes(plan))
    without = report_html(_plan())
    assert "Own, managed or hosted" in page
    assert "Own, managed or hosted" not in without
