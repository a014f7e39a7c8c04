-- One row is one purchase of one candidate in one scenario, paid in month 0 or, to grow and to replace, later.
-- `inputs` are what the amount is proportional to.
select
    scenario_line.scenario,
    scenario_line.key,
    event.month_end,
    scenario_line.category,
    scenario_line.item,
    'capex' as capex_or_opex,
    'fixed' as fixed_or_variable,
    true as held,
    scenario_line.basis,
    scenario_line.source,
    scenario_line.price_date,
    scenario_line.confidence,
    ['purchase_price'] as inputs,
    scenario_line.quantity * scenario_line.scenario_unit_usd * event.bought as usd
from scenario_line
inner join event
    on
        scenario_line.key = event.key
        and event.bought > 0
        and (scenario_line.category <> 'one_time' or event.month_end = 0)
where scenario_line.charge = 'once'
