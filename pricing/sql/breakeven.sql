-- One row is one chosen price for the hour in force on the day $as_of of a product with accelerators, and the months
-- after which a bought server is cheaper than renting as many accelerators: months = purchase / ((rent x paid share -
-- running) x $hours_per_month), each in USD for one accelerator, running and rent per hour. Empty months: never, since
-- running it costs as much as renting. Committed hours are paid whether they are used or not; of the others the share
-- $utilisation is. Servers without a price ($owned) have no row.
with
owned as (
    select
        o.accelerator,
        o.system,
        o.purchase_usd_per_gpu,
        o.running_usd_per_gpu_hour
    from (select unnest($owned, recursive := true)) as o
),

rented as (
    select
        price.sku,
        price.region,
        price.term,
        price.effective_from,
        price.last_seen,
        price.source,
        gpu_product.provider,
        gpu_product.accelerator,
        price.usd / gpu_product.gpus as usd_per_gpu_hour,
        case when list_contains($committed_terms, price.term) then 1.0 else $utilisation end -- noqa: RF02
            as paid_share
    from price_on($as_of, $skus) as price -- noqa: RF02
    inner join gpu_product on price.sku = gpu_product.sku
    where
        price.charge = 'hourly'
        and $term in ('', price.term)
        and ($region = '' or price.region in ($region, ''))
)

select
    rented.provider,
    rented.accelerator,
    rented.sku,
    rented.region,
    rented.term,
    rented.effective_from,
    rented.last_seen,
    rented.source,
    rented.usd_per_gpu_hour,
    rented.paid_share,
    owned.system,
    owned.purchase_usd_per_gpu,
    owned.running_usd_per_gpu_hour,
    case
        when rented.usd_per_gpu_hour * rented.paid_share > owned.running_usd_per_gpu_hour
            then
                owned.purchase_usd_per_gpu
                / (rented.usd_per_gpu_hour * rented.paid_share - owned.running_usd_per_gpu_hour)
                / $hours_per_month
    end as breakeven_months
from rented
inner join owned on rented.accelerator = owned.accelerator
order by breakeven_months nulls last, rented.sku, rented.region, rented.term
