-- One row is one hourly price that looks like the total of a month or a term: above 20 times the on-demand price of the
-- same product and place, or the highest shipped one, or above 2,000 USD per hour for one node.
with
on_demand as (
    select
        sku,
        region,
        max(usd) as usd
    from reference_on_demand
    group by sku, region
),

shipped as (
    select
        sku,
        max(usd) as usd
    from shipped_on_demand
    group by sku
)

select
    incoming.row_number,
    round(incoming.usd, 4) || ' USD per hour looks like the total of a term' as reason
from incoming
left join on_demand on incoming.sku = on_demand.sku and incoming.region = on_demand.region
left join shipped on incoming.sku = shipped.sku
where
    incoming.charge = 'hourly'
    and (
        incoming.usd > 2000
        or (incoming.term <> 'on_demand' and incoming.usd > 20 * on_demand.usd)
        or incoming.usd > 20 * shipped.usd
    )
