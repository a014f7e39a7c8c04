-- One row is one product, region and term with a chosen price, and how many points its history has.
select
    sku,
    region,
    term,
    count(*) as points,
    min(effective_from) as first_day,
    max(last_seen) as last_day
from price_point
where status = 'chosen'
group by sku, region, term
order by sku, region, term
