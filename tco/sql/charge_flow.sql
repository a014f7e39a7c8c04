-- One row is one amount beside the bill, each month or once at the start: egress, data between zones, setup.
with
scenario as (
    select distinct scenario as scenario_name
    from parameter
)

select
    scenario.scenario_name as scenario,
    charge.key,
    period.month_end,
    charge.category,
    charge.item,
    'opex' as capex_or_opex,
    'fixed' as fixed_or_variable,
    true as held,
    [] as inputs,
    charge.usd * period.months as usd,
    charge.basis,
    charge.source,
    charge.price_date,
    charge.confidence
from charge
inner join work on charge.key = work.key and work.priced
cross join period
cross join scenario
where not charge.once
union all
select
    scenario.scenario_name as scenario,
    charge.key,
    0.0 as month_end,
    charge.category,
    charge.item,
    'opex' as capex_or_opex,
    'fixed' as fixed_or_variable,
    true as held,
    [] as inputs,
    charge.usd,
    charge.basis,
    charge.source,
    charge.price_date,
    charge.confidence
from charge
inner join work on charge.key = work.key and work.priced
cross join scenario
where charge.once
