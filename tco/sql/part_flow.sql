-- One row is one dated, tagged amount of one candidate in one scenario (base, or every assumption at its cheap `low` or
-- dear `high` end). USD paid are positive. Month 0 is the purchase; month n is paid at the end of month n; a last part
-- of a month counts by its length. `held` costs run on while the cluster waits for work.
select
    scenario,
    key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    usd,
    basis,
    source,
    price_date,
    confidence,
    null as price_set_month
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
    usd,
    basis,
    source,
    price_date,
    confidence,
    price_set_month
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
    usd,
    basis,
    source,
    price_date,
    confidence,
    null as price_set_month
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
    usd,
    basis,
    source,
    price_date,
    confidence,
    null as price_set_month
from surcharge_flow
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
    usd,
    basis,
    source,
    price_date,
    confidence,
    null as price_set_month
from charge_flow
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
    usd,
    basis,
    source,
    price_date,
    confidence,
    null as price_set_month
from commitment_flow
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
    usd,
    basis,
    source,
    price_date,
    confidence,
    null as price_set_month
from support_flow
