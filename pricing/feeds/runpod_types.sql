-- One row is one price of an accelerator of RunPod's secure cloud, per GPU. The community cloud is another product:
-- machines of strangers. A price of a type that is not offered in the secure cloud is none.
with
known as (
    select unnest($names, recursive := true)
),

offer as (
    select unnest(data.gputypes, recursive := true)
    from
        read_json(
            $files,
            format = 'unstructured',
            columns = {
                'data': 'STRUCT(gpuTypes STRUCT(
                    id VARCHAR, displayName VARCHAR, secureCloud BOOLEAN, securePrice DOUBLE, secureSpotPrice DOUBLE
                )[])'
            }
        )
),

priced as (
    select
        id,
        'on_demand' as term,
        secureprice as amount
    from offer
    where securecloud
    union all
    select
        id,
        'spot' as term,
        securespotprice as amount
    from offer
    where securecloud and securespotprice is not null
)

select -- noqa: ST06
    known.sku,
    'runpod' as provider,
    '' as region,
    '' as zone,
    priced.id as provider_sku,
    '' as instance_type,
    known.gpu,
    known.gpu_count,
    priced.term,
    '' as payment,
    'hourly' as charge,
    'GPU' as unit,
    0.0 as tier_start,
    'USD' as currency,
    priced.amount,
    cast($observed_on as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    'gpuTypes' as locator,
    'high' as confidence,
    '' as note,
    '' as missing
from priced
inner join known on priced.id = known.name
