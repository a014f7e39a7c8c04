-- One row is one product, region, term and day with more than one chosen price.
select
    sku,
    region,
    term,
    effective_from,
    count(*) || ' chosen prices' as finding
from price_point
where status = 'chosen'
group by sku, region, term, effective_from
having count(*) > 1
