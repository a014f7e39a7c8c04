-- One row is one candidate in one of the first draws: the present value of its cost, for tables of chosen draws.
select
    number,
    key,
    npv_usd
from drawn_cost
where number < $most
order by number, key
