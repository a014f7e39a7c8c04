-- One row is one dated part of an amount of one option (base scenario), with everything it moves with in a draw:
-- `inputs` of the cash flow; hours of committed nodes, which grow where the work takes more than all of them; and the
-- path of the rental price, by the months at which prices are agreed. `term` names these: amounts that move with the
-- same are drawn together.
with
moved as (
    select
        key,
        month_end,
        category,
        capex_or_opex,
        usd,
        price_set_month,
        if(
            price_set_month is not null and held,
            list_append(inputs, 'committed_hours/' || part_key),
            inputs
        ) as inputs
    from cash_term
    where scenario = 'base'
),

with_path as (
    select
        * exclude (inputs),
        inputs as own_inputs,
        if(price_set_month is null, '', 'price_path/' || key || '/' || array_to_string(inputs, ' ')) as price_path
    from moved
)

select
    key,
    month_end,
    category,
    capex_or_opex,
    usd,
    price_set_month,
    price_path,
    if(price_path = '', own_inputs, list_append(own_inputs, price_path)) as inputs,
    array_to_string(if(price_path = '', own_inputs, list_append(own_inputs, price_path)), ' ') as term
from with_path
