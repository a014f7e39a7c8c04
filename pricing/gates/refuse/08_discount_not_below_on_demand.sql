-- One row is one reserved, spot or block price above the on-demand price of the same product and place, or one reserved
-- price that equals it: a commitment without a price of its own that silently reads as on demand. Where neither the
-- document nor the store has the price on demand, the shipped one is taken.
with
on_demand as (
    select
        sku,
        region,
        min(usd) as usd
    from reference_on_demand
    group by sku, region
    union all by name
    select shipped_on_demand.* -- noqa: AM04
    from shipped_on_demand
    anti join reference_on_demand
        on
            shipped_on_demand.sku = reference_on_demand.sku
            and shipped_on_demand.region = reference_on_demand.region
)

select
    incoming.row_number,
    incoming.term || ' at ' || round(incoming.usd, 4) || ' USD, on demand '
    || round(on_demand.usd, 4) || ' USD' as reason
from incoming
inner join on_demand on incoming.sku = on_demand.sku and incoming.region = on_demand.region
where
    incoming.charge = 'hourly'
    and (
        (incoming.term not in ('on_demand', 'purchase') and incoming.usd > on_demand.usd * 1.0001)
        or (incoming.term in ('reserved_1y', 'reserved_3y') and incoming.usd > on_demand.usd * 0.9999)
    )
