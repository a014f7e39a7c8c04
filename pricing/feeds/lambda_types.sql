-- One row is one price of an instance type of Lambda, in cents for the whole instance; one for all regions.
with
known as (
    select unnest($names, recursive := true)
),

offer as (
    select unnest(map_values(data), recursive := true)
    from
        read_json(
            $files,
            format = 'unstructured',
            columns = {
                'data': 'MAP(VARCHAR, STRUCT(instance_type STRUCT("name" VARCHAR, price_cents_per_hour DOUBLE)))'
            }
        )
)

select -- noqa: ST06
    known.sku,
    'lambda' as provider,
    '' as region,
    '' as zone,
    '' as provider_sku,
    offer.name as instance_type,
    known.gpu,
    known.gpu_count,
    'on_demand' as term,
    '' as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    'USD' as currency,
    offer.price_cents_per_hour / 100 as amount,
    cast($observed_on as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    'instance-types' as locator,
    'high' as confidence,
    '' as note,
    '' as missing
from offer
inner join known on offer.name = known.name
