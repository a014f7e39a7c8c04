-- One row is one product with accelerators, region and term in one month of those from $from_month to $to_month: the
-- price of one GPU-hour, weighted by how long each price stood, and the lowest and highest. A price, of one zone if the
-- provider has them, stands until the next one; what was not seen since the month before $from_month is left out. Empty
-- $term or $region means all of them.
with
known as (
    select
        sku,
        region,
        zone,
        term,
        usd,
        effective_at
    from seen_price
    where
        charge = 'hourly'
        and last_seen >= cast($from_month as date) - interval 1 month
        and effective_at < cast($to_month as date) + interval 1 month
        and known_on <= cast($as_of as date)
        and (len($skus) = 0 or list_contains($skus, sku))
        and $term in ('', term)
        and ($region = '' or region in ($region, ''))
),

-- Of what came before the first month only the last price of a series matters: nothing else has to be put in order.
seen as (
    select
        sku,
        region,
        zone,
        term,
        arg_max(usd, effective_at) as usd,
        max(effective_at) as effective_at
    from known
    where effective_at < cast($from_month as date)
    group by sku, region, zone, term
    union all by name
    select *
    from known
    where effective_at >= cast($from_month as date)
),

ordered as (
    select
        *,
        lead(effective_at) over (partition by sku, region, zone, term order by effective_at) as next_at
    from seen
),

standing as (
    select
        *,
        least(
            coalesce(next_at, cast('infinity' as timestamp)),
            cast($to_month as date) + interval 1 month,
            cast($as_of as date) + interval 1 day
        ) as stands_until
    from ordered
),

asked_month as (
    select
        cast(
            unnest(generate_series(cast($from_month as date), cast($to_month as date), interval 1 month)) as date
        ) as month_from
),

in_month as (
    select
        standing.sku,
        standing.region,
        standing.term,
        standing.usd,
        asked_month.month_from,
        epoch(least(standing.stands_until, asked_month.month_from + interval 1 month))
        - epoch(greatest(standing.effective_at, asked_month.month_from)) as seconds
    from standing
    inner join asked_month
        on
            standing.effective_at < asked_month.month_from + interval 1 month
            and standing.stands_until > asked_month.month_from
)

select
    gpu_product.provider,
    gpu_product.accelerator,
    in_month.sku,
    in_month.region,
    in_month.term,
    in_month.month_from as month, -- noqa: RF04
    sum(in_month.usd * in_month.seconds) / sum(in_month.seconds) / gpu_product.gpus as mean_usd_per_gpu_hour,
    min(in_month.usd) / gpu_product.gpus as lowest_usd_per_gpu_hour,
    max(in_month.usd) / gpu_product.gpus as highest_usd_per_gpu_hour,
    count(*) as prices
from in_month
inner join gpu_product on in_month.sku = gpu_product.sku
where in_month.seconds > 0
group by
    gpu_product.provider, gpu_product.accelerator, gpu_product.gpus, in_month.sku, in_month.region, in_month.term,
    in_month.month_from
order by in_month.sku, in_month.region, in_month.term, in_month.month_from
