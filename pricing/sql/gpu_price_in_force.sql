-- One row is one chosen price for the hour in force on the day $as_of of a product with accelerators, cheapest per
-- GPU-hour first: USD per GPU-hour, per 1e15 dense bf16 FLOP/s and hour, and per GB (1e9 bytes) of HBM and hour. Empty
-- $accelerator, $sku, $term or $region means all of them. Of several prices of one day a fetched one wins over a
-- shipped one, then the better documented, then the lower one.
with
product as (
    select
        p.sku,
        p.provider,
        p.accelerator,
        p.gpus,
        p.dense_bf16_flop_per_s_per_gpu,
        p.hbm_bytes_per_gpu
    from (select unnest($products, recursive := true)) as p
),

known_price as (
    select *
    from price_point
    where
        status = 'chosen'
        and charge = 'hourly'
        and effective_from <= cast($as_of as date)
        and $sku in ('', sku)
        and $term in ('', term)
        and ($region = '' or region in ($region, ''))
    qualify row_number() over (
        partition by sku, region, term
        order by
            effective_from desc, precedence desc, list_position(['high', 'medium', 'low'], confidence) asc, usd asc
    ) = 1
)

select
    product.provider,
    product.accelerator,
    product.gpus,
    known_price.sku,
    known_price.region,
    known_price.term,
    known_price.usd as usd_per_hour,
    known_price.effective_from,
    known_price.last_seen,
    known_price.source,
    known_price.locator,
    known_price.confidence,
    known_price.note,
    known_price.usd / product.gpus as usd_per_gpu_hour,
    known_price.usd / product.gpus / (product.dense_bf16_flop_per_s_per_gpu / 1e15) as usd_per_dense_bf16_pflop_hour,
    known_price.usd / product.gpus / (product.hbm_bytes_per_gpu / 1e9) as usd_per_gb_hbm_hour,
    greatest(0, date_diff('day', known_price.last_seen, cast($as_of as date))) as age_days
from known_price
inner join product on known_price.sku = product.sku
where $accelerator in ('', product.accelerator)
order by usd_per_gpu_hour, known_price.sku, known_price.region, known_price.term
