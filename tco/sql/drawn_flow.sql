-- One row is one dated part of an amount of one option (base scenario), with everything it moves with in a draw:
-- `inputs` of the cash flow, the time of a run being that of the candidate it is done on; a quantity that follows the
-- work by steps (`scaled_by`; the amount is for one unit of it); and the path of the rental price, by the months at
-- which prices are agreed. `term` names these: amounts that move with the same are drawn together. What is held at a
-- price that is agreed later than today follows the price, as what is rented by use does.
with
moved as (
    select
        key,
        month_end,
        category,
        capex_or_opex,
        usd_each as usd,
        price_set_month,
        list_filter(
            list_transform(inputs, lambda name: if(name = 'run_time', 'run_time/' || part_key, name))
            || [
                scaled_by,
                if(price_set_month is not null and held, 'committed_hours/' || part_key, null),
                if(price_set_month > 0 and held, 'cloud_price', null)
            ],
            lambda name: name is not null
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
