-- One row is one purchase of one candidate in one scenario, paid in month 0. `inputs` are what the
-- amount is proportional to.
select
    scenario_line.scenario,
    scenario_line.key,
    0.0 as month_end,
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
    scenario_line.quantity * scenario_line.scenario_unit_usd as usd
from scenario_line
where scenario_line.charge = 'once'
