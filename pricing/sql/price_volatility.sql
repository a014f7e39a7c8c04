-- One row is one series of chosen prices for the hour with at least $least_changes changes (spot unless $term says
-- otherwise), the most volatile first. Volatility a year: square root of the sum of squared changes of ln(price) over
-- the years covered (realised variance). Survival: the share of prices that stood at least 30, and 90, days; the newest
-- one is left out unless it stood that long, since its end is not known. Nothing after the day $as_of counts.
-- Empty $term or $region means all of them.
with
change as (
    select
        sku,
        region,
        term,
        usd,
        effective_from,
        least(last_seen, cast($as_of as date)) as last_seen,
        lag(usd) over (partition by sku, region, term order by effective_from) as usd_before
    from chosen_price
    where
        charge = 'hourly'
        and effective_from <= cast($as_of as date)
        and (len($skus) = 0 or list_contains($skus, sku))
        and $term in ('', term)
        and ($region = '' or region in ($region, ''))
        and usd > 0
    qualify usd_before is null or usd <> usd_before
),

lived as (
    select
        *,
        ln(usd / usd_before) as log_change,
        lead(effective_from) over series as next_change,
        date_diff('day', effective_from, coalesce(lead(effective_from) over series, last_seen)) as days_in_force
    from change
    window series as (partition by sku, region, term order by effective_from)
)

select
    gpu_product.provider,
    gpu_product.accelerator,
    gpu_product.gpus,
    lived.sku,
    lived.region,
    lived.term,
    count(lived.usd_before) as changes,
    min(lived.effective_from) as first_day,
    max(lived.last_seen) as last_day,
    sqrt(
        sum(lived.log_change * lived.log_change)
        / (greatest(1, date_diff('day', min(lived.effective_from), max(lived.effective_from))) / 365.25)
    ) as log_volatility_per_year,
    median(lived.days_in_force) as median_days_in_force,
    avg(case when lived.days_in_force >= 30 then 1.0 when lived.next_change is not null then 0.0 end)
        as share_in_force_30_days,
    avg(case when lived.days_in_force >= 90 then 1.0 when lived.next_change is not null then 0.0 end)
        as share_in_force_90_days,
    exp(max(lived.log_change)) - 1 as largest_rise_share,
    1 - exp(min(lived.log_change)) as largest_fall_share,
    min(lived.usd) / gpu_product.gpus as lowest_usd_per_gpu_hour,
    max(lived.usd) / gpu_product.gpus as highest_usd_per_gpu_hour,
    arg_max(lived.usd, lived.effective_from) / gpu_product.gpus as newest_usd_per_gpu_hour
from lived
inner join gpu_product on lived.sku = gpu_product.sku
group by gpu_product.provider, gpu_product.accelerator, gpu_product.gpus, lived.sku, lived.region, lived.term
having count(lived.usd_before) >= $least_changes
order by log_volatility_per_year desc, lived.sku asc, lived.region asc
