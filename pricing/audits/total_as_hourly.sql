-- One row is one hourly price that looks like the total of a term: above 20 times the on-demand price in force, or
-- above 2,000 USD per hour for one node.
with
on_demand as (
    select
        sku,
        region,
        effective_from,
        usd
    from price_point
    where status = 'chosen' and term = 'on_demand' and charge = 'hourly'
),

compared as (
    select
        price_point.sku,
        price_point.region,
        price_point.term,
        price_point.effective_from,
        price_point.usd,
        on_demand.usd as on_demand_usd
    from price_point
    asof left join on_demand
        on
            price_point.sku = on_demand.sku
            and price_point.region = on_demand.region
            and price_point.last_seen >= on_demand.effective_from
    where price_point.status = 'chosen' and price_point.charge = 'hourly'
)

select
    sku,
    region,
    term,
    effective_from,
    usd || ' USD per hour' as finding
from compared
where usd > 2000 or (term <> 'on_demand' and usd > 20 * on_demand_usd)
