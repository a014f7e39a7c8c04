-- One row is one price in a catalogue of SkyPilot for one cloud: on demand per region, spot per zone. Rows without an
-- instance type are accelerators whose host is priced apart, and rows without an accelerator are hosts: neither is a
-- price of a node. The list is made from the clouds' own: it says no day of its own, and prices of 0 stand for types
-- that are sold by reservation only.
with
wanted as (
    select unnest($wanted, recursive := true)
),

offer as (
    select -- noqa: ST06
        entry.instancetype as instance_type,
        wanted.gpu,
        wanted.gpu_count,
        entry.region,
        coalesce(entry.availabilityzone, '') as zone,
        try_cast(entry.price as double) as price,
        try_cast(entry.spotprice as double) as spot_price
    from read_csv($files, header = true, all_varchar = true, delim = ',', quote = '"', escape = '"') as entry
    inner join wanted on entry.instancetype = wanted.instance_type
    where coalesce(entry.acceleratorname, '') <> ''
),

priced as (
    select distinct
        instance_type,
        gpu,
        gpu_count,
        region,
        '' as zone,
        'on_demand' as term,
        price as amount
    from offer
    where price is not null
    union all
    select distinct
        instance_type,
        gpu,
        gpu_count,
        region,
        zone,
        'spot' as term,
        spot_price as amount
    from offer
    where spot_price is not null
)

select -- noqa: ST06
    $cloud || '/' || instance_type as sku,
    $cloud as provider,
    region,
    zone,
    '' as provider_sku,
    instance_type,
    gpu,
    gpu_count,
    term,
    '' as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    'USD' as currency,
    amount,
    cast($observed_on as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    'catalogue of ' || $cloud as locator,
    'medium' as confidence,
    '' as note,
    '' as missing
from priced
