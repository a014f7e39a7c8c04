-- One row is one change of the chosen price for the hour of a product with accelerators, oldest first within product,
-- region and term: the price per GPU-hour, how many days it stood (until the next change, or until it was last seen),
-- and the change from the one before. Repeated prices are no change, and nothing after the day $as_of counts. Empty
-- $term or $region means all of them.
with
change as (
    select
        *,
        lag(usd) over series as usd_before,
        max(last_seen) over series_to_end as series_last_seen
    from chosen_price
    where
        charge = 'hourly'
        and effective_from <= cast($as_of as date)
        and (len($skus) = 0 or list_contains($skus, sku))
        and $term in ('', term)
        and ($region = '' or region in ($region, ''))
    window
        series as (partition by sku, region, term order by effective_from),
        series_to_end as (partition by sku, region, term)
    qualify usd_before is null or usd <> usd_before
)

select
    gpu_product.provider,
    gpu_product.accelerator,
    gpu_product.gpus,
    change.sku,
    change.region,
    change.term,
    change.effective_from,
    change.source,
    change.locator,
    change.note,
    change.usd / gpu_product.gpus as usd_per_gpu_hour,
    change.usd / nullif(change.usd_before, 0) - 1 as change_share,
    date_diff(
        'day',
        change.effective_from,
        coalesce(
            lead(change.effective_from) over (
                partition by change.sku, change.region, change.term order by change.effective_from
            ),
            greatest(least(change.series_last_seen, cast($as_of as date)), change.effective_from)
        )
    ) as days_in_force
from change
inner join gpu_product on change.sku = gpu_product.sku
order by change.sku, change.region, change.term, change.effective_from
