-- One row is one on-demand price per hour that a new price is held against: of the same document, else the last stored.
-- Of the document, prices that are not positive, have ended or are yet to come are no reference.
with
stored as (
    select
        sku,
        region,
        arg_max(usd, (observed_on, effective_from)) as usd
    from observation
    where term = 'on_demand' and charge = 'hourly' and zone = ''
    group by sku, region
),

own as (
    select
        sku,
        region,
        arg_max(usd, (effective_from, -usd)) as usd
    from incoming
    where
        term = 'on_demand' and charge = 'hourly' and usd > 0
        and coalesce(cast(effective_to as date) >= observed_on, true)
        and effective_from < observed_on + interval 1 day
    group by sku, region
)

select
    sku,
    region,
    usd,
    false as is_stored
from own
union all
select
    stored.sku,
    stored.region,
    stored.usd,
    true as is_stored
from stored
anti join own on stored.sku = own.sku and stored.region = own.region
