-- One row is one accelerator in one month, newest first: the median over providers of the price of one GPU-hour
-- under $term, restated from prices in force. A price stands until the next one of its product and region, the newest
-- as long as it was seen; of several in a month the last one counts. A provider counts once, with the median over its
-- products and regions. `others` are providers besides those in $clouds. Empty $region means all of them.
with
standing as (
    select
        sku,
        region,
        usd,
        effective_from,
        coalesce(
            lead(effective_from) over (partition by sku, region order by effective_from) - 1,
            least(greatest(last_seen, effective_from), cast($as_of as date))
        ) as stands_until
    from chosen_price
    where
        charge = 'hourly'
        and term = $term
        and effective_from <= cast($as_of as date)
        and (len($skus) = 0 or list_contains($skus, sku))
        and ($region = '' or region in ($region, ''))
),

in_month as (
    select
        sku,
        region,
        usd,
        effective_from,
        cast(
            unnest(
                generate_series(
                    date_trunc('month', effective_from), date_trunc('month', stands_until), interval 1 month
                )
            ) as date
        ) as month_from
    from standing
),

last_of_month as (
    select
        sku,
        region,
        month_from,
        arg_max(usd, effective_from) as usd
    from in_month
    group by sku, region, month_from
),

provider_price as (
    select
        gpu_product.accelerator,
        gpu_product.provider,
        last_of_month.month_from,
        median(last_of_month.usd / gpu_product.gpus) as usd_per_gpu_hour
    from last_of_month
    inner join gpu_product on last_of_month.sku = gpu_product.sku
    group by gpu_product.accelerator, gpu_product.provider, last_of_month.month_from
)

select
    accelerator,
    month_from as month, -- noqa: RF04
    median(usd_per_gpu_hour) as median_usd_per_gpu_hour,
    count(*) as providers,
    min(usd_per_gpu_hour) as lowest_usd_per_gpu_hour,
    max(usd_per_gpu_hour) as highest_usd_per_gpu_hour,
    median(usd_per_gpu_hour) filter (where not list_contains($clouds, provider)) as others_median_usd_per_gpu_hour,
    count(*) filter (where not list_contains($clouds, provider)) as other_providers
from provider_price
group by accelerator, month_from
order by accelerator asc, month_from desc
