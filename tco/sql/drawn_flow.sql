-- One row is one dated part of an amount of one option, with everything it moves with in a draw (`inputs`): its
-- `moves`, and the path of the rental price, by the months at which prices are agreed. `term` names these: amounts that
-- move with the same are drawn together. What follows the whole bill of a month or a year (plans of support, committed
-- spends) is one term, of which the draw has the present value.
with
with_path as (
    select
        *,
        if(
            price_set_month is null,
            '',
            'price_path/' || key || '/' || part_key || '/' || array_to_string(moves, ' ')
        ) as price_path
    from drawn_term
    where of_what = 'flow'
),

bill as (
    select distinct
        key,
        ['bill/' || key] as moves
    from cash_term
    where scenario = 'base' and category in ('support_plan', 'commitment')
)

select
    key,
    part_key,
    month_end,
    category,
    capex_or_opex,
    usd,
    price_set_month,
    price_path,
    if(price_path = '', moves, list_append(moves, price_path)) as inputs,
    array_to_string(if(price_path = '', moves, list_append(moves, price_path)), ' ') as term
from with_path
union all
select
    key,
    key as part_key,
    0.0 as month_end,
    'bill' as category,
    'opex' as capex_or_opex,
    1.0 as usd,
    null as price_set_month,
    '' as price_path,
    moves as inputs,
    moves[1] as term
from bill
