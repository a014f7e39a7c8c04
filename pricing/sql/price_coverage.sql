-- One row is one product with accelerators and one term that it may be sold under: how many chosen prices are known,
-- in how many regions, and the day of the newest one; 0 prices is a hole. Empty $accelerator or $sku means all
-- of them.
with
product as (
    select
        p.sku,
        p.provider,
        p.accelerator,
        p.gpus,
        p.terms
    from (select unnest($products, max_depth := 2)) as p
),

wanted as (
    select
        product.sku,
        product.provider,
        product.accelerator,
        product.gpus,
        unnest(product.terms) as term
    from product
    where $accelerator in ('', product.accelerator) and $sku in ('', product.sku)
),

known as (
    select
        sku,
        term,
        count(*) as prices,
        count(distinct region) as regions,
        max(last_seen) as newest_day
    from price_point
    where status = 'chosen' and effective_from <= cast($as_of as date)
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
