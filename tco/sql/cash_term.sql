-- One row is one dated, tagged part of an amount, with the inputs it is proportional to (the names of the columns of a
-- draw): what `cash_flow` shows and what draws of uncertain inputs scale. Signs and months as in `cash_flow`; parts of
-- one amount (`is_part`) are added up there.
select
    scenario,
    key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    inputs,
    usd,
    basis,
    source,
    price_date,
    confidence,
    false as is_part
from purchase_flow
union all
select
    scenario,
    key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    inputs,
    usd,
    basis,
    source,
    price_date,
    confidence,
    false as is_part
from rent_flow
union all
select
    scenario,
    key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    inputs,
    usd,
    basis,
    source,
    price_date,
    confidence,
    true as is_part
from owner_flow
union all
select
    scenario,
    key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    inputs,
    usd,
    basis,
    source,
    price_date,
    confidence,
    true as is_part
from surcharge_flow
