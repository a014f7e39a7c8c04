-- One row is one part of what the bill of one candidate in one month holds, with the columns of a draw that it is
-- proportional to and the month at whose start its price is agreed.
select
    of_what,
    key,
    part_key,
    month_end,
    fixed_or_variable,
    price_set_month,
    moves,
    sum(usd) as usd
from drawn_term
where of_what <> 'flow'
group by of_what, key, part_key, month_end, fixed_or_variable, price_set_month, moves
order by of_what, key, part_key, month_end, fixed_or_variable, price_set_month, moves
