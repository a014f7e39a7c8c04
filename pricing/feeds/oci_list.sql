-- One row is one price of an accelerator in Oracle's public list: per GPU, one for all regions, without commitments.
-- Rows of Cloud@Customer and VMware are per GPU too, and H100T is no H100: only part numbers of $names are read.
with
known as (
    select unnest($names, recursive := true)
),

item as (
    select unnest(items, recursive := true)
    from
        read_json(
            $files,
            format = 'unstructured',
            columns = {
                'items': 'STRUCT(
                    partNumber VARCHAR, displayName VARCHAR, metricName VARCHAR,
                    currencyCodeLocalizations STRUCT(
                        currencyCode VARCHAR, prices STRUCT(model VARCHAR, "value" DOUBLE, rangeMin DOUBLE)[]
                    )[]
                )[]'
            }
        )
),

localized as (
    select
        item.partnumber,
        item.displayname,
        item.metricname,
        unnest(item.currencycodelocalizations) as place
    from item
),

priced as (
    select
        localized.partnumber,
        localized.displayname,
        localized.metricname,
        localized.place.currencycode,
        unnest(localized.place.prices) as price
    from localized
)

select -- noqa: ST06
    known.sku,
    'oci' as provider,
    '' as region,
    '' as zone,
    priced.partnumber as provider_sku,
    '' as instance_type,
    known.gpu,
    known.gpu_count,
    'on_demand' as term,
    '' as payment,
    'hourly' as charge,
    'GPU' as unit,
    coalesce(priced.price.rangemin, 0.0) as tier_start,
    priced.currencycode as currency,
    priced.price.value as amount,
    cast($observed_on as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    priced.partnumber || ', ' || priced.displayname as locator,
    'high' as confidence,
    '' as note,
    '' as missing
from priced
inner join known on priced.partnumber = known.name
where priced.metricname = 'GPU Per Hour' and priced.price.model = 'PAY_AS_YOU_GO'
