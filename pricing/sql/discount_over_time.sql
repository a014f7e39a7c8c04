-- One row is one change of a discounted price for the hour (spot, commitments, blocks) against the on-demand price in
-- force in the same region on that day, newest first: discount = 1 - discounted / on demand. Prices before the first
-- on-demand one have no row. Empty $accelerator, $sku or $region means all of them.
with
product as (
    select
        p.sku,
        p.provider,
        p.accelerator,
        p.gpus
    from (select unnest($products, recursive := true)) as p
),

chosen_point as (
    select *
    from price_point
    where
        status = 'chosen'
        and charge = 'hourly'
        and $sku in ('', sku)
        and ($region = '' or region in ($region, ''))
    qualify row_number() over (
        partition by sku, region, term, effective_from
        order by precedence desc, list_position(['high', 'medium', 'low'], confidence) asc, usd asc
    ) = 1
),

discounted as (
    select *
    from chosen_point
    where term <> 'on_demand'
),

on_demand as (
    select
        sku,
        region,
        effective_from,
        usd
    from chosen_point
    where term = 'on_demand'
)

select
    product.provider,
    product.accelerator,
    product.gpus,
    discounted.sku,
    discounted.region,
    discounted.term,
    discounted.effective_from,
    discounted.last_seen,
    discounted.usd / product.gpus as usd_per_gpu_hour,
    on_demand.usd / product.gpus as on_demand_usd_per_gpu_hour,
    1 - discounted.usd / nullif(on_demand.usd, 0) as discount_share
from discounted
asof inner join on_demand
    on
        discounted.sku = on_demand.sku
        and discounted.region = on_demand.region
        and discounted.effective_from >= on_demand.effective_from
inner join product on discounted.sku = product.sku
where $accelerator in ('', product.accelerator)
order by discounted.effective_from desc, discounted.sku asc, discounted.region asc, discounted.term asc
