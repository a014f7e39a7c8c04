-- One row is one rented bill line of one candidate in one scenario: what it costs in a month after its discount, and
-- how it is paid, for runs of the scenario's time. `held` costs run on while the cluster waits for work; nodes that are
-- not committed are paid by the hour worked. Committed nodes are paid whether they work or not; work beyond all their
-- hours takes more of them.
with
tagged as (
    select
        scenario_line.*,
        work.busy_fraction * run_time.factor as busy_fraction,
        coalesce(contract.period_months, scenario_line.term_months, $horizon_months) as period_months,
        coalesce(contract.rest, 'credited') as rest,
        coalesce(contract.source, '') as contract_source,
        work.owned or scenario_line.committed as held,
        scenario_line.scales_with = 'nodes' and not scenario_line.committed as by_the_hour_worked,
        if(scenario_line.by_term, coalesce(contract.upfront_fraction, 0.0), 0.0) as upfront_fraction,
        if(
            contract.all_categories or list_contains(contract.categories, scenario_line.category),
            contract.discount,
            0.0
        ) as discount
    from scenario_line
    inner join work on scenario_line.key = work.key
    inner join run_time on scenario_line.key = run_time.key and scenario_line.scenario = run_time.scenario
    left join contract on scenario_line.key = contract.key
    where scenario_line.charge in ('hourly', 'monthly')
)

select
    tagged.scenario,
    tagged.key,
    tagged.item,
    tagged.category,
    tagged.committed,
    tagged.by_term,
    tagged.by_the_hour_worked,
    tagged.held,
    tagged.busy_fraction,
    tagged.period_months,
    tagged.rest,
    tagged.upfront_fraction,
    tagged.basis,
    tagged.price_date,
    tagged.confidence,
    if(tagged.discount > 0, tagged.source || '; ' || tagged.contract_source, tagged.source) as source,
    tagged.quantity
    * tagged.scenario_unit_usd
    * (1.0 - coalesce(tagged.discount, 0.0))
    * if(tagged.charge = 'hourly', $hours_per_month, 1.0)
    * case
        when tagged.by_the_hour_worked then tagged.busy_fraction
        when tagged.committed then greatest(1.0, tagged.busy_fraction)
        else 1.0
    end as usd_per_month
from tagged
