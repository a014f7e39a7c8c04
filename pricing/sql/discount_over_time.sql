-- One row is one change of a discounted price for the hour (spot, commitments, blocks) against the on-demand price in
-- force in the same region on that day, newest first: discount = 1 - discounted / on demand. Prices before the first
-- on-demand one have no row, nor have those after the day $as_of. Empty $term or $region means all of
-- them.
with
hourly as (
    select *
    from chosen_price
    where
        charge = 'hourly'
        and effective_from <= cast($as_of as date)
        and (len($skus) = 0 or list_contains($skus, sku))
        and ($region = '' or region in ($region, ''))
),

discounted as (
    select *
    from hourly
    where term <> 'on_demand' and $term in ('', term)
),

on_demand as (
    select
        sku,
        region,
        effective_from,
        usd
    from hourly
    where term = 'on_demand'
)

select
    gpu_product.provider,
    gpu_product.accelerator,
    gpu_product.gpus,
    discounted.sku,
    discounted.region,
    discounted.term,
    discounted.effective_from,
    discounted.usd / gpu_product.gpus as usd_per_gpu_hour,
    on_demand.usd / gpu_product.gpus as on_demand_usd_per_gpu_hour,
    1 - discounted.usd / nullif(on_demand.usd, 0) as discount_share,
    least(discounted.last_seen, cast($as_of as date)) as last_seen
from discounted
asof inner join on_demand
    on
        discounted.sku = on_demand.sku
        and discounted.region = on_demand.region
        and discounted.effective_from >= on_demand.effective_from
inner join gpu_product on discounted.sku = gpu_product.sku
order by discounted.effective_from desc, discounted.sku asc, discounted.region asc, discounted.term asc
