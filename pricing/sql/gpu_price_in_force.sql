-- One row is one chosen price for the hour in force on the day $as_of of a product with accelerators, cheapest per
-- GPU-hour first: USD per GPU-hour, per 1e15 dense bf16 and fp8 FLOP/s and hour, and per GB (1e9 bytes) of HBM and
-- hour. Empty $term or $region means all of them.
with
known_price as (
    select *
    from price_on($as_of, $skus)
    where
        charge = 'hourly'
        and $term in ('', term)
        and ($region = '' or region in ($region, ''))
)

select
    gpu_product.provider,
    gpu_product.accelerator,
    gpu_product.gpus,
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
    known_price.usd / gpu_product.gpus as usd_per_gpu_hour,
    known_price.usd
    / gpu_product.gpus
    / (gpu_product.dense_bf16_flop_per_s_per_gpu / 1e15) as usd_per_dense_bf16_pflop_hour,
    known_price.usd
    / gpu_product.gpus
    / (gpu_product.dense_fp8_flop_per_s_per_gpu / 1e15) as usd_per_dense_fp8_pflop_hour,
    known_price.usd / gpu_product.gpus / (gpu_product.hbm_bytes_per_gpu / 1e9) as usd_per_gb_hbm_hour,
    date_diff('day', known_price.last_seen, cast($as_of as date)) as age_days
from known_price
inner join gpu_product on known_price.sku = gpu_product.sku
order by usd_per_gpu_hour, known_price.sku, known_price.region, known_price.term
