-- One row is one change of the spot price of a GPU instance in a zone, as `aws ec2 describe-spot-price-history` gives
-- it: a price is in force until the next change, so that averages of rows mean nothing. Only the last 90 days are
-- given. Linux comes under two names, of which one price is kept; Local Zones are no zones of the region they are named
-- after.
with
wanted as (
    select unnest($wanted, recursive := true)
),

change as (
    select unnest(spotpricehistory, recursive := true)
    from
        read_json(
            $files,
            format = 'unstructured',
            maximum_object_size = 268435456,
            columns = {
                'SpotPriceHistory': 'STRUCT(
                    AvailabilityZone VARCHAR, InstanceType VARCHAR, ProductDescription VARCHAR, SpotPrice VARCHAR,
                    "Timestamp" VARCHAR
                )[]'
            }
        )
),

linux as (
    select
        change.*, -- noqa: AM04
        wanted.gpu,
        wanted.gpu_count,
        regexp_extract(change.availabilityzone, '^([a-z]{2}(-[a-z]+)+-[0-9]+)[a-z]$', 1) as region
    from change
    inner join wanted on change.instancetype = wanted.instance_type
    where change.productdescription in ('Linux/UNIX', 'Linux/UNIX (Amazon VPC)')
    qualify
        row_number() over (
            partition by change.instancetype, change.availabilityzone, change.timestamp
            order by change.productdescription desc
        ) = 1
)

select -- noqa: ST06
    'aws/' || instancetype as sku,
    'aws' as provider,
    region,
    availabilityzone as zone,
    '' as provider_sku,
    instancetype as instance_type,
    gpu,
    gpu_count,
    'spot' as term,
    '' as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    'USD' as currency,
    try_cast(spotprice as double) as amount,
    cast(try_cast(timestamp as timestamptz) at time zone 'UTC' as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    productdescription as locator,
    'high' as confidence,
    '' as note,
    '' as missing
from linux
where region <> ''
