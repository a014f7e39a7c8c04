-- One row is one dated, tagged amount of one option in one scenario (base, or every assumption at its cheap `low` or
-- dear `high` end). USD paid are positive. Month 0 is the purchase; month n is paid at the end of month n; a last part
-- of a month counts by its length. `held` costs run on while the cluster waits for work.
select
    scenario,
    key,
    part_key,
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
from cash_term
where not is_part
union all
select
    scenario,
    key,
    part_key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    sum(usd) as usd,
    basis,
    source,
    price_date,
    confidence,
    price_set_month
from cash_term
where is_part and (usd <> 0 or usd_each = 0)
group by
    scenario,
    key,
    part_key,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    basis,
    source,
    price_date,
    confidence,
    price_set_month
