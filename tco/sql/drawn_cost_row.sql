-- One row is one candidate in one of the first draws: the present value of its cost before and after tax, for
-- tables of chosen draws.
select
    number,
    key,
    npv_usd,
    npv_after_tax_usd
from drawn_cost
where number < $most
order by number, key
