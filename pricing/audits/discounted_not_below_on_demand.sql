-- One row is one spot, reserved or capacity block price that is not below the on-demand price in force on the first or
-- on the last day it was seen: a commitment without a price of its own silently read as on demand, or a wrong row.
-- (A discounted price from before a cut of the on-demand price may be above today's; those days are not compared.)
with
discounted as (
    select
        sku,
        region,
        term,
        effective_from,
        usd,
        unnest([effective_from, last_seen]) as seen_on
    from price_point
    where status = 'chosen' and term not in ('on_demand', 'purchase') and charge = 'hourly'
),

on_demand as (
    select
        sku,
        region,
        effective_from,
        usd
    from price_point
    where status = 'chosen' and term = 'on_demand'
)

select distinct
    discounted.sku,
    discounted.region,
    discounted.term,
    discounted.effective_from,
    discounted.usd || ' USD, on demand ' || on_demand.usd || ' USD' as finding
from discounted
asof inner join on_demand
    on
        discounted.sku = on_demand.sku
        and discounted.region = on_demand.region
        and discounted.seen_on >= on_demand.effective_from
where discounted.usd >= on_demand.usd
