-- One row is one price in an offer file of AWS: a Linux price of a GPU instance, on demand or reserved, or a price of
-- storage or network (`catalog/service_meters.csv`). $extract holds the rows of the file that can be one.
-- What tells the one price of a type and region from its neighbours: Windows and licences, dedicated and host tenancy,
-- unused reservations, capacity blocks, Local Zones and Wavelength are other products that share the type's name.
-- A reserved instance has two rows, an upfront fee (unit Quantity, a total of the term) and an hourly rate: its price
-- by the hour is rate + fee / (8760 h x years). Without one of them it is no price, and `missing` names it; only with
-- No Upfront there is no fee. A free first tier is no price: the next one is read as the first, and its note says so.
with
wanted as (
    select unnest($wanted, recursive := true)
),

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

offer as (
    select
        *, -- noqa: AM04
        try_cast(priceperunit as double) as amount,
        try_cast(effectivedate as timestamp) as effective_from,
        coalesce(
            nullif(regioncode, ''), nullif(fromregioncode, ''), nullif(fromlocation, ''), nullif(location, ''), ''
        ) as region
    from read_csv($extract, header = true, all_varchar = true, delim = ',', quote = '"', escape = '"', nullstr = '\0')
    where
        coalesce(nullif(locationtype, ''), nullif(fromlocationtype, ''), 'AWS Region') = 'AWS Region'
),

machine as (
    select
        offer.*, -- noqa: AM04
        wanted.gpu,
        wanted.gpu_count
    from offer
    inner join wanted on offer.instancetype = wanted.instance_type
    where
        offer.operatingsystem = 'Linux'
        and offer.tenancy = 'Shared'
        and offer.preinstalledsw = 'NA'
        and offer.capacitystatus = 'Used'
        and offer.marketoption = 'OnDemand'
        and offer.operation = 'RunInstances'
        and offer.locationtype = 'AWS Region'
),

on_demand as (
    select
        'aws/' || instancetype as sku,
        region,
        sku as provider_sku,
        instancetype as instance_type,
        gpu,
        gpu_count,
        'on_demand' as term,
        '' as payment,
        'hourly' as charge,
        'node' as unit,
        0.0 as tier_start,
        currency,
        amount,
        effective_from,
        ratecode as locator,
        '' as note,
        '' as missing
    from machine
    where termtype = 'OnDemand' and unit = 'Hrs'
),

commitment as (
    select
        sku,
        region,
        instancetype,
        gpu,
        gpu_count,
        offertermcode,
        currency,
        purchaseoption,
        offeringclass,
        leasecontractlength,
        try_cast(regexp_extract(leasecontractlength, '^([0-9]+) ?y', 1) as double) as years,
        min(amount) filter (where unit = 'Hrs') as rate,
        count(distinct amount) filter (where unit = 'Hrs') as rates,
        min(amount) filter (where unit = 'Quantity') as fee,
        count(distinct amount) filter (where unit = 'Quantity') as fees,
        max(effective_from) as effective_from
    from machine
    where termtype = 'Reserved'
    group by
        sku, region, instancetype, gpu, gpu_count, offertermcode, currency, purchaseoption, offeringclass,
        leasecontractlength
),

reserved as (
    select
        'aws/' || instancetype as sku,
        region,
        sku as provider_sku,
        instancetype as instance_type,
        gpu,
        gpu_count,
        'reserved_' || coalesce(cast(cast(years as integer) as varchar), '?') || 'y' as term,
        case lower(offeringclass) when 'convertible' then 'convertible_' else '' end
        || replace(lower(purchaseoption), ' ', '_') as payment,
        'hourly' as charge,
        'node' as unit,
        0.0 as tier_start,
        currency,
        rate + coalesce(fee, 0) / (8760 * years) as amount,
        effective_from,
        sku || '.' || offertermcode as locator,
        case
            when fee > 0
                then
                    format(
                        '{:.2f} {} upfront and {:.4f} {} per hour for {} h',
                        fee, currency, rate, currency, cast(8760 * years as bigint)
                    )
            else ''
        end as note,
        concat_ws(
            ', ',
            case
                when rates = 0 then 'hourly'
                when rates > 1 then 'hourly (several)'
                when rate < 0 or (rate = 0 and purchaseoption <> 'All Upfront') then 'hourly (' || rate || ')'
            end,
            case
                when fees = 0 and purchaseoption <> 'No Upfront' then 'upfront'
                when fees > 1 then 'upfront (several)'
                when fee < 0 or (fee = 0 and purchaseoption <> 'No Upfront') then 'upfront (' || fee || ')'
            end,
            case
                when purchaseoption not in ('No Upfront', 'Partial Upfront', 'All Upfront')
                    then 'purchase option (' || purchaseoption || ')'
            end,
            case
                when years is null or years = 0
                    then 'length of the term (' || leasecontractlength || ')'
            end
        ) as missing
    from commitment
),

metered as (
    select -- noqa: ST06
        meter.sku,
        meter.charge,
        meter.unit,
        meter.provider_unit,
        offer.region,
        offer.sku as provider_sku,
        offer.currency,
        offer.amount / meter.units_in_one as amount,
        offer.effective_from,
        offer.ratecode,
        offer.unit as said_unit,
        coalesce(try_cast(offer.startingrange as double), 0.0) as begins_at
    from offer
    inner join meter
        on
            list_has_all(
                [
                    'productfamily=' || offer.productfamily,
                    'usagetype=' || regexp_replace(offer.usagetype, '^[A-Z]{2,4}[0-9]?-', ''),
                    'transfertype=' || offer.transfertype,
                    'filesystemtype=' || offer.filesystemtype,
                    'storagetype=' || offer.storagetype,
                    'throughputcapacity=' || offer.throughputcapacity
                ],
                meter.conditions
            )
    where offer.termtype = 'OnDemand'
),

tiered as (
    select
        *, -- noqa: AM04
        min(begins_at) filter (where amount > 0) over (partition by sku, region, provider_sku) as first_paid,
        min(begins_at) over (partition by sku, region, provider_sku) as lowest
    from metered
),

service as (
    select
        sku,
        region,
        provider_sku,
        '' as instance_type,
        '' as gpu,
        cast(null as double) as gpu_count,
        'on_demand' as term,
        '' as payment,
        charge,
        unit,
        case when begins_at = first_paid and lowest = 0 then 0.0 else begins_at end as tier_start,
        currency,
        amount,
        effective_from,
        ratecode as locator,
        case
            when begins_at = first_paid and begins_at > lowest and lowest = 0
                then 'after ' || format('{:g}', begins_at) || ' ' || said_unit || ' that are free'
            else ''
        end as note,
        case
            when lower(said_unit) <> lower(provider_unit)
                then 'its unit: it is ' || said_unit || ', not ' || provider_unit
            else ''
        end as missing
    from tiered
    where amount > 0 or first_paid is null or begins_at > first_paid or amount is null
),

priced as (
    select * from on_demand
    union all by name
    select * from reserved
    union all by name
    select * from service
)

select -- noqa: ST06
    sku,
    'aws' as provider,
    region,
    '' as zone,
    provider_sku,
    instance_type,
    gpu,
    gpu_count,
    term,
    payment,
    charge,
    unit,
    tier_start,
    currency,
    case when missing = '' then amount end as amount,
    effective_from,
    cast(null as timestamp) as effective_to,
    locator,
    'high' as confidence,
    note,
    missing
from priced
