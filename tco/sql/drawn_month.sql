-- One row is one part of what one option pays in one month, as `cumulative` counts it: without resale at the end and
-- without what was paid in advance for later work.
select
    key,
    part_key,
    month_end,
    price_set_month,
    moves,
    sum(usd) as usd
from drawn_term
where
    of_what = 'flow'
    and category <> 'unused_term'
    and (category <> 'resale' or month_end < $horizon_months)
group by key, part_key, month_end, price_set_month, moves
order by key, part_key, month_end, price_set_month, moves
