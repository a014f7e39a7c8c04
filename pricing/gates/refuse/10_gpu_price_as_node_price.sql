-- One row is one hourly price of a node that is what others ask for one of its accelerators, or one price of an
-- accelerator that is what they ask for a node: they differ by the number of accelerators, within 8 %. A price on
-- demand is compared with other places and documents, else against the shipped price of its place, else of all
-- places; a commitment, which is never seven eighths off, against the price on demand of its place.
with
usual as (
    select
        sku,
        median(usd) as usd
    from reference_on_demand
    group by sku
    having count(distinct region) > 1 or max(is_stored)
),

shipped as (
    select
        sku,
        min(usd) as low_usd,
        max(usd) as high_usd
    from shipped_on_demand
    group by sku
),

compared as (
    select
        incoming.row_number,
        incoming.usd,
        incoming.gpu_count,
        coalesce(usual.usd, shipped_on_demand.usd, shipped.low_usd) as low_usd,
        coalesce(usual.usd, shipped_on_demand.usd, shipped.high_usd) as high_usd
    from incoming
    left join usual on incoming.sku = usual.sku
    left join shipped on incoming.sku = shipped.sku
    left join shipped_on_demand
        on incoming.sku = shipped_on_demand.sku and incoming.region = shipped_on_demand.region
    where incoming.term = 'on_demand' and incoming.charge = 'hourly' and incoming.gpu_count >= 4
)

select
    row_number,
    round(usd, 4) || ' USD, elsewhere ' || round(low_usd, 4) || ' USD: ' || cast(gpu_count as integer)
    || ' accelerators apart' as reason
from compared
where
    (usd between low_usd / (gpu_count * 1.08) and high_usd * 1.08 / gpu_count and usd < low_usd / 2)
    or (usd between low_usd * gpu_count / 1.08 and high_usd * gpu_count * 1.08 and usd > high_usd * 2)
union all
select
    incoming.row_number,
    incoming.term || ' at ' || round(incoming.usd, 4) || ' USD, on demand ' || round(min(on_demand.usd), 4)
    || ' USD for ' || cast(incoming.gpu_count as integer) || ' accelerators' as reason
from incoming
inner join reference_on_demand as on_demand
    on incoming.sku = on_demand.sku and incoming.region = on_demand.region
where
    incoming.term in ('reserved_1y', 'reserved_3y', 'capacity_block')
    and incoming.charge = 'hourly'
    and incoming.unit = 'node'
    and incoming.gpu_count >= 4
group by incoming.row_number, incoming.term, incoming.usd, incoming.gpu_count
having incoming.usd <= min(on_demand.usd) / incoming.gpu_count
