-- One row is one purchase of one candidate in one scenario, paid in month 0 or, to grow and to replace, later.
-- `inputs` are what the amount is proportional to; of what is bought to grow, `usd_each` is for one unit of the
-- capacity `scaled_by`.
select
    scenario_line.scenario,
    scenario_line.key,
    lot_event.month_end,
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
    scenario_line.quantity * scenario_line.scenario_unit_usd * lot_event.bought as usd_each,
    scenario_line.quantity * scenario_line.scenario_unit_usd * lot_event.bought * lot_event.size as usd,
    if(lot_event.lot_month > 0, 'lot/' || lot_event.key || '/' || cast(lot_event.lot_month as integer), null)
        as scaled_by
from scenario_line
inner join lot_event
    on
        scenario_line.key = lot_event.key
        and lot_event.bought > 0
        and (scenario_line.category <> 'one_time' or lot_event.month_end = 0)
where scenario_line.charge = 'once'
