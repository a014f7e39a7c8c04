-- One row is one Linux price of a GPU instance in pages of Azure's Retail Prices API: on demand, spot, reservation, or
-- savings plan. What tells it from its neighbours: products that end in ' Windows', and Cloud Services, are others;
-- 'Low Priority' is an older spot, only the primary region of a meter is the price, and a reservation's price is the
-- total of its term although its unit says one hour. Storage and network are read by their meters
-- (`catalog/service_meters.csv`), by tiers; a free first tier is no price: the next one is read as the first, and its
-- note says so. $extract holds the items that can be one of these.
with
meter as (
    select
        m.sku,
        m.charge,
        m.unit,
        m.provider_unit,
        m.units_in_one,
        m.conditions
    from (select unnest($meters) as m) as listed
),

wanted as (
    select unnest($wanted, recursive := true)
),

item as (
    select unnest(items, recursive := true)
    from
        read_json(
            $extract,
            format = 'unstructured',
            maximum_object_size = 268435456,
            columns = {
                'Items': 'STRUCT(currencyCode VARCHAR, tierMinimumUnits DOUBLE, retailPrice DOUBLE, armRegionName VARCHAR, location VARCHAR, effectiveStartDate VARCHAR, effectiveEndDate VARCHAR, meterId VARCHAR, meterName VARCHAR, productName VARCHAR, skuName VARCHAR, serviceName VARCHAR, unitOfMeasure VARCHAR, "type" VARCHAR, isPrimaryMeterRegion BOOLEAN, armSkuName VARCHAR, reservationTerm VARCHAR, savingsPlan STRUCT(retailPrice DOUBLE, term VARCHAR)[])[]' -- noqa: LT05
            }
        )
),

linux as materialized (
    select
        item.*, -- noqa: AM04
        wanted.instance_type,
        wanted.gpu,
        wanted.gpu_count
    from item
    inner join wanted on item.armskuname = wanted.instance_type
    where
        item.servicename = 'Virtual Machines'
        and item.productname not like '% Windows'
        and item.productname not like '%CloudServices%'
        and item.skuname not like '%Low Priority%'
        and item.metername not like '%Low Priority%'
        and item.isprimarymeterregion
        and item.unitofmeasure = '1 Hour'
),

offered as (
    select
        linux.*, -- noqa: AM04
        unnest(linux.savingsplan) as saving
    from linux
    where linux.type = 'Consumption' and linux.skuname not like '% Spot'
),

priced as (
    select
        *, -- noqa: AM04
        case when skuname like '% Spot' or metername like '% Spot' then 'spot' else 'on_demand' end as term,
        '' as payment,
        retailprice as amount
    from linux
    where type = 'Consumption'
    union all by name
    select
        *, -- noqa: AM04
        case reservationterm when '1 Year' then 'reserved_1y' else 'reserved_3y' end as term,
        'no_upfront' as payment,
        retailprice / case reservationterm when '1 Year' then 8760.0 else 26280.0 end as amount
    from linux
    where type = 'Reservation' and reservationterm in ('1 Year', '3 Years')
    union all by name
    select
        offered.* exclude (saving), -- noqa: AM04
        case offered.saving.term when '1 Year' then 'reserved_1y' else 'reserved_3y' end as term,
        'savings_plan' as payment,
        offered.saving.retailprice as amount
    from offered
    where offered.saving.term in ('1 Year', '3 Years')
),

metered as (
    select -- noqa: ST06
        meter.sku,
        meter.charge,
        meter.unit,
        meter.provider_unit,
        coalesce(nullif(item.armregionname, ''), item.location, '') as region,
        item.meterid,
        item.metername,
        item.productname,
        item.unitofmeasure,
        item.currencycode,
        item.retailprice / meter.units_in_one as amount,
        item.effectivestartdate,
        item.effectiveenddate,
        coalesce(item.tierminimumunits, 0.0) as begins_at
    from item
    inner join meter
        on
            list_has_all(
                [
                    'metername=' || item.metername,
                    'productname=' || item.productname,
                    'skuname=' || item.skuname
                ],
                meter.conditions
            )
    where item.type = 'Consumption'
),

tiered as (
    select
        *, -- noqa: AM04
        min(begins_at) filter (where amount > 0) over (partition by sku, region, meterid) as first_paid,
        min(begins_at) over (partition by sku, region, meterid) as lowest
    from metered
),

service as (
    select
        *, -- noqa: AM04
        case when begins_at = first_paid and lowest = 0 then 0.0 else begins_at end as tier_start,
        case
            when begins_at = first_paid and begins_at > lowest and lowest = 0
                then 'after ' || format('{:g}', begins_at) || ' of ' || unitofmeasure || ' that are free'
            else ''
        end as note,
        case
            when unitofmeasure <> provider_unit then 'its unit: it is ' || unitofmeasure || ', not ' || provider_unit
            else ''
        end as missing
    from tiered
    where amount > 0 or first_paid is null or begins_at > first_paid or amount is null
)

select -- noqa: ST06
    'azure/' || instance_type as sku,
    'azure' as provider,
    armregionname as region,
    '' as zone,
    meterid as provider_sku,
    instance_type,
    gpu,
    gpu_count,
    term,
    payment,
    'hourly' as charge,
    'node' as unit,
    coalesce(tierminimumunits, 0.0) as tier_start,
    currencycode as currency,
    amount,
    try_cast(effectivestartdate as timestamp) as effective_from,
    try_cast(effectiveenddate as timestamp) as effective_to,
    metername || ', ' || productname as locator,
    'high' as confidence,
    '' as note,
    '' as missing
from priced
union all by name
select -- noqa: ST06
    sku,
    'azure' as provider,
    region,
    '' as zone,
    meterid as provider_sku,
    '' as instance_type,
    '' as gpu,
    cast(null as double) as gpu_count,
    'on_demand' as term,
    '' as payment,
    charge,
    unit,
    tier_start,
    currencycode as currency,
    case when missing = '' then amount end as amount,
    try_cast(effectivestartdate as timestamp) as effective_from,
    try_cast(effectiveenddate as timestamp) as effective_to,
    metername || ', ' || productname as locator,
    'high' as confidence,
    note,
    missing
from service
