-- One row is one month of the market of one accelerator: the mean change of ln(price) from its first day to that of the
-- next month. A series (product, region, term) counts in the months at both ends of which its price is known; series
-- are averaged within provider and term, and these with each other, so that many regions of one provider weigh no more
-- than one of another. A provider that joins or leaves changes nothing. Prices on demand and spot, up to $as_of.
with
priced as (
    select
        chosen_price.sku,
        chosen_price.region,
        chosen_price.term,
        chosen_price.effective_from,
        chosen_price.usd,
        least(greatest(chosen_price.last_seen, chosen_price.effective_from), cast($as_of as date)) as seen_until,
        lag(chosen_price.usd) over (
            partition by chosen_price.sku, chosen_price.region, chosen_price.term order by chosen_price.effective_from
        ) as usd_before
    from chosen_price
    where
        chosen_price.charge = 'hourly'
        and (len($skus) = 0 or list_contains($skus, chosen_price.sku))
        and chosen_price.term in ('on_demand', 'spot')
        and chosen_price.usd > 0
        and chosen_price.effective_from <= cast($as_of as date)
),

series as (
    select
        sku,
        region,
        term,
        date_trunc('month', min(effective_from) - interval 1 day) + interval 1 month as first_month,
        date_trunc('month', max(seen_until)) as end_month
    from priced
    group by sku, region, term
),

changed as (
    select
        sku,
        region,
        term,
        date_trunc('month', effective_from - interval 1 day) as month_start,
        sum(ln(usd / usd_before)) as log_change
    from priced
    where usd_before is not null
    group by sku, region, term, month_start
),

known as (
    select
        series.sku,
        series.region,
        series.term,
        unnest(range(series.first_month, series.end_month, interval 1 month)) as month_start
    from series
),

averaged as (
    select
        gpu_product.provider,
        gpu_product.accelerator,
        known.term,
        known.month_start,
        avg(coalesce(changed.log_change, 0.0)) as log_change
    from known
    inner join gpu_product on known.sku = gpu_product.sku
    left join changed
        on
            known.sku = changed.sku
            and known.region = changed.region
            and known.term = changed.term
            and known.month_start = changed.month_start
    group by gpu_product.provider, gpu_product.accelerator, known.term, known.month_start
)

select
    accelerator,
    cast(month_start as date) as month_start,
    avg(log_change) as log_change
from averaged
group by accelerator, month_start
order by accelerator, month_start
