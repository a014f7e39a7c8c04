-- One row is one shipped on-demand price per hour that was in force, in its place, on the day a document was seen.
select
    sku,
    region,
    arg_max(usd, effective_from) as usd
from shipped_price
where
    status = 'chosen'
    and term = 'on_demand'
    and charge = 'hourly'
    and effective_from <= cast($observed_on as date)
group by sku, region
