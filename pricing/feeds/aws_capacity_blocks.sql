-- One row is one offer of a capacity block, as `aws ec2 describe-capacity-block-offerings` gives it, by the hour and
-- node: the fee is the total of all nodes and hours, and the duration is hours plus minutes. It holds for its window
-- only.
with
wanted as (
    select unnest($wanted, recursive := true)
),

offer as (
    select unnest(capacityblockofferings, recursive := true)
    from
        read_json(
            $files,
            format = 'unstructured',
            maximum_object_size = 268435456,
            columns = {
                'CapacityBlockOfferings': 'STRUCT(
                    CapacityBlockOfferingId VARCHAR, InstanceType VARCHAR, AvailabilityZone VARCHAR,
                    InstanceCount DOUBLE, StartDate VARCHAR, EndDate VARCHAR, CapacityBlockDurationHours DOUBLE,
                    CapacityBlockDurationMinutes DOUBLE, UpfrontFee VARCHAR, CurrencyCode VARCHAR, Tenancy VARCHAR
                )[]'
            }
        )
)

select -- noqa: ST06
    'aws/' || offer.instancetype as sku,
    'aws' as provider,
    regexp_extract(offer.availabilityzone, '^([a-z]{2}(-[a-z]+)+-[0-9]+)', 1) as region,
    offer.availabilityzone as zone,
    offer.capacityblockofferingid as provider_sku,
    offer.instancetype as instance_type,
    wanted.gpu,
    wanted.gpu_count,
    'capacity_block' as term,
    'all_upfront' as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    coalesce(offer.currencycode, '') as currency,
    try_cast(offer.upfrontfee as double) / nullif(
        offer.instancecount
        * (coalesce(offer.capacityblockdurationhours, 0) + coalesce(offer.capacityblockdurationminutes, 0) / 60),
        0
    ) as amount,
    cast(try_cast(offer.startdate as timestamptz) at time zone 'UTC' as timestamp) as effective_from,
    cast(try_cast(offer.enddate as timestamptz) at time zone 'UTC' as timestamp) as effective_to,
    offer.capacityblockofferingid || ', ' || cast(offer.instancecount as integer) || ' nodes' as locator,
    'high' as confidence,
    'without the fee of the operating system' as note,
    '' as missing
from offer
inner join wanted on offer.instancetype = wanted.instance_type
where coalesce(offer.tenancy, 'default') = 'default'
