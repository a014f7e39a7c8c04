-- One row is one amount beside the bill, each month or once at the start: egress, data between zones, setup.
with
scenario as (
    select distinct scenario as scenario_name
    from parameter
),

due as (
    select
        month_end,
        months,
        false as once
    from period
    union all
    select
        0.0 as month_end,
        1.0 as months,
        true as once
)

select -- noqa: ST06
    scenario.scenario_name as scenario,
    charge.key,
    due.month_end,
    charge.category,
    charge.item,
    'opex' as capex_or_opex,
    'fixed' as fixed_or_variable,
    true as held,
    [] as inputs,
    charge.usd * due.months as usd,
    charge.basis,
    charge.source,
    charge.price_date,
    charge.confidence
from charge
inner join work on charge.key = work.key and work.priced
inner join due on charge.once = due.once
cross join scenario
