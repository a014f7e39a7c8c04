-- One row is one dated part of an amount in the base, with the columns of a draw that it is proportional to (`moves`):
-- of a cash flow (`flow`), of what a plan of support is charged on (`support`), or of what counts towards the committed
-- spend of a year (`commitment`). The time of a run, the rental price and the resale are those of the candidate that
-- a row comes from (`part_key`); `usd` is for one unit of a quantity that follows the work by steps (`scaled_by`). What
-- is held at a price that is agreed later than today follows the price, as what is rented by use does.
with
charged as (
    select
        key,
        month_end,
        fixed_or_variable,
        held,
        inputs,
        scaled_by,
        price_set_month,
        usd_each as usd
    from rent_flow
    where scenario = 'base' and category <> 'unused_term'
    union all by name
    select
        key,
        month_end,
        fixed_or_variable,
        held,
        inputs,
        usd
    from charge_flow
    where scenario = 'base'
),

term as (
    select
        'flow' as of_what,
        key,
        part_key,
        month_end,
        category,
        capex_or_opex,
        fixed_or_variable,
        held,
        inputs,
        scaled_by,
        price_set_month,
        usd_each as usd
    from cash_term
    where scenario = 'base' and category not in ('support_plan', 'commitment')
    union all by name
    select
        'support' as of_what,
        key,
        key as part_key,
        month_end,
        fixed_or_variable,
        held,
        inputs,
        scaled_by,
        price_set_month,
        usd
    from charged
    where key in (select support_tier.key from support_tier)
    union all by name
    select
        'commitment' as of_what,
        key,
        key as part_key,
        year_end as month_end,
        'fixed' as fixed_or_variable,
        held,
        inputs,
        scaled_by,
        price_set_month,
        usd_each as usd
    from spend_term
    where scenario = 'base'
)

select
    of_what,
    key,
    part_key,
    month_end,
    category,
    capex_or_opex,
    fixed_or_variable,
    price_set_month,
    usd,
    list_filter(
        list_transform(
            inputs,
            lambda name: if(name in ('run_time', 'cloud_price', 'resale_fraction'), name || '/' || part_key, name)
        )
        || [
            scaled_by,
            if(price_set_month > 0 and held, 'cloud_price/' || part_key, null)
        ],
        lambda name: name is not null
    ) as moves
from term
