-- One row is what an option pays and receives in the base scenario at the prices of one origin, without sign.
select
    key,
    part_key,
    basis,
    source,
    price_date,
    sum(abs(usd)) as usd
from cash_flow
where scenario = 'base'
group by key, part_key, basis, source, price_date
order by key, part_key, basis, source, price_date
