-- One row is one product with accelerators, region and term in one month of those from $from_month to $to_month: the
-- lowest and highest price of one GPU-hour that came into force in it, and how many did. Every price is read once,
-- without what stood before the month, which `price_of_month` weighs. Empty $term or $region means all of them.
with
monthly as (
    select
        sku,
        region,
        term,
        12 * year(effective_at) + month(effective_at) - 1 as month_number,
        min(usd) as lowest_usd,
        max(usd) as highest_usd,
        count(*) as prices
    from seen_price
    where
        charge = 'hourly'
        and last_seen >= cast($from_month as date)
        and effective_at >= cast($from_month as date)
        and effective_at < cast($to_month as date) + interval 1 month
        and known_on <= cast($as_of as date)
        and (len($skus) = 0 or list_contains($skus, sku))
        and $term in ('', term)
        and ($region = '' or region in ($region, ''))
    group by sku, region, term, month_number
)

select
    gpu_product.provider,
    gpu_product.accelerator,
    monthly.sku,
    monthly.region,
    monthly.term,
    monthly.prices,
    make_date(monthly.month_number // 12, monthly.month_number % 12 + 1, 1) as month, -- noqa: RF04
    monthly.lowest_usd / gpu_product.gpus as lowest_usd_per_gpu_hour,
    monthly.highest_usd / gpu_product.gpus as highest_usd_per_gpu_hour
from monthly
inner join gpu_product on monthly.sku = gpu_product.sku
order by monthly.sku, monthly.region, monthly.term, monthly.month_number
