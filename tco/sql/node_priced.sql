-- One row is one option: what it costs over the horizon, in what follows the price of rented nodes and in what does
-- not. What is paid by what whole bills come to is left out.
select
    key,
    coalesce(sum(usd) filter (where price_set_month is not null), 0.0) as nodes_usd,
    coalesce(sum(usd) filter (where price_set_month is null), 0.0) as fixed_usd
from cash_term
where scenario = 'base' and category not in ('support_plan', 'commitment')
group by key
order by key
