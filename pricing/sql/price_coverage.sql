-- One row is one product with accelerators and one term that it may be sold under: how many chosen prices are known,
-- in how many regions, and the day of the newest one; 0 prices is a hole.
with
wanted as (
    select
        gpu_product.sku,
        gpu_product.provider,
        gpu_product.accelerator,
        gpu_product.gpus,
        unnest(gpu_product.terms) as term
    from gpu_product
),

known as (
    select
        sku,
        term,
        count(*) as prices,
        count(distinct region) as regions,
        max(least(last_seen, cast($as_of as date))) as newest_day
    from price_point
    where
        status = 'chosen'
        and effective_from <= cast($as_of as date)
        and (len($skus) = 0 or list_contains($skus, sku))
    group by sku, term
)

select
    wanted.provider,
    wanted.accelerator,
    wanted.gpus,
    wanted.sku,
    wanted.term,
    known.newest_day,
    coalesce(known.prices, 0) as prices,
    coalesce(known.regions, 0) as regions
from wanted
left join known on wanted.sku = known.sku and wanted.term = known.term
order by wanted.provider, wanted.accelerator, wanted.sku, wanted.term
