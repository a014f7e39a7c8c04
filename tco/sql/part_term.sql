-- One row is one dated, tagged part of an amount of one candidate, with the inputs it is proportional to (the names of
-- the columns of a draw). Signs and months as in `cash_flow`; parts of one amount (`is_part`) are added up there.
-- `price_set_month` is the month at whose start a price of rented nodes was agreed; empty for everything else.
-- `scaled_by` names a quantity that follows the work by steps, such as capacity that is bought to grow; `usd_each` is
-- for one unit of it, and `usd` where there is none.
with
flow as (
    select
        *,
        true as is_part
    from purchase_flow
    union all by name
    select *
    from rent_flow
    union all by name
    select
        *,
        true as is_part
    from owner_flow
    union all by name
    select
        *,
        true as is_part
    from surcharge_flow
    union all by name
    select
        *,
        false as is_part
    from charge_flow
    union all by name
    select
        *,
        false as is_part
    from commitment_flow
    union all by name
    select
        *,
        true as is_part
    from support_flow
)

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
    scaled_by,
    usd,
    basis,
    source,
    price_date,
    confidence,
    is_part,
    price_set_month,
    coalesce(usd_each, usd) as usd_each
from flow
