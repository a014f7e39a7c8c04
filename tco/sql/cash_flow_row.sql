-- One row is one dated, tagged amount of the base scenario, in the order people read it. Empty $key means all of them.
select
    key,
    part_key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    usd,
    basis,
    source,
    price_date,
    confidence
from cash_flow
where scenario = 'base' and ($key = '' or key = $key)
order by key, month_end, capex_or_opex, category, item
