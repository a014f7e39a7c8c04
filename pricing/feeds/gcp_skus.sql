-- One row is one price of a GPU machine type, added up from the SKUs of its cores, memory, accelerators and local disk
-- in Google's Cloud Billing Catalog, which has no price of a machine. Regions are those of the SKU, never those of its
-- text; sizes come from the catalogue. A component without a price, or with several, is named in `missing`: a machine
-- without its accelerators is never a price. Storage and network are read by their meters
-- (`catalog/service_meters.csv`), by tiers; a free first tier is no price: the next one is read as the first, and its
-- note says so.
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

component as (
    select unnest($components, recursive := true)
),

product as (
    select unnest(skus, recursive := true)
    from
        read_json(
            $files,
            format = 'unstructured',
            maximum_object_size = 268435456,
            columns = {
                'skus': 'STRUCT(
                    skuId VARCHAR, description VARCHAR, category STRUCT(usageType VARCHAR), serviceRegions VARCHAR[],
                    pricingInfo STRUCT(
                        effectiveTime VARCHAR,
                        pricingExpression STRUCT(
                            usageUnit VARCHAR,
                            tieredRates STRUCT(
                                startUsageAmount DOUBLE,
                                unitPrice STRUCT(currencyCode VARCHAR, units VARCHAR, nanos BIGINT)
                            )[]
                        )
                    )[]
                )[]'
            }
        )
),

rate as (
    select
        product.description,
        product.usagetype as usage_type,
        product.pricinginfo[-1].pricingexpression.usageunit as usage_unit,
        product.pricinginfo[-1].pricingexpression.tieredrates[-1].unitprice.currencycode as currency,
        coalesce(try_cast(product.pricinginfo[-1].pricingexpression.tieredrates[-1].unitprice.units as double), 0)
        + coalesce(product.pricinginfo[-1].pricingexpression.tieredrates[-1].unitprice.nanos, 0) / 1e9 as amount,
        try_cast(product.pricinginfo[-1].effectivetime as timestamptz) as effective_at,
        unnest(product.serviceregions) as region
    from product
),

matched as (
    select
        component.instance_type,
        component.component,
        rate.region,
        case rate.usage_type
            when 'OnDemand' then 'on_demand'
            when 'Preemptible' then 'spot'
            when 'Commit1Yr' then 'reserved_1y'
            else 'reserved_3y'
        end as term,
        min(rate.amount) as amount,
        count(distinct rate.amount) as amounts,
        max(rate.effective_at) as effective_at,
        min(rate.currency) as currency
    from component
    inner join rate
        on
            component.usage_unit = rate.usage_unit
            and starts_with(
                lower(rate.description),
                lower(
                    case rate.usage_type
                        when 'OnDemand' then component.on_demand
                        when 'Preemptible' then component.spot
                        else component.commitment
                    end
                )
            )
    where rate.usage_type in ('OnDemand', 'Preemptible', 'Commit1Yr', 'Commit3Yr') and rate.amount > 0
    group by all
),

offered as (
    select distinct
        component.instance_type,
        matched.region,
        matched.term
    from component
    inner join matched on component.instance_type = matched.instance_type
    where
        matched.component = 'gpu'
        or (matched.component = 'core' and list_contains(component.regions, matched.region))
),

added as (
    select
        component.instance_type,
        component.gpu,
        component.gpu_count,
        offered.region,
        offered.term,
        coalesce(min(matched.currency), 'USD') as currency,
        -- to Google's unit: the order of the sum is the engine's, and another last bit would be another price
        round(sum(component.quantity * matched.amount), 9) as amount,
        max(matched.effective_at) as effective_at,
        coalesce(
            string_agg(
                component.component || case when matched.amounts > 1 then ' (several)' else '' end, ', '
                order by component.component
            ) filter (where coalesce(matched.amounts, 0) <> 1),
            ''
        ) as missing
    from offered
    inner join component on offered.instance_type = component.instance_type
    left join matched
        on
            offered.instance_type = matched.instance_type
            and offered.region = matched.region
            and offered.term = matched.term
            and component.component = matched.component
    group by all
),

metered as (
    select
        meter.sku,
        meter.charge,
        meter.unit,
        meter.provider_unit,
        meter.units_in_one,
        product.skuid,
        product.description,
        product.serviceregions,
        product.pricinginfo[-1].effectivetime as effective_at,
        product.pricinginfo[-1].pricingexpression.usageunit as usage_unit,
        unnest(product.pricinginfo[-1].pricingexpression.tieredrates) as tier
    from product
    inner join meter
        on starts_with(
            'description=' || product.description || ' ', meter.conditions[1] || ' '
        )
    where product.usagetype = 'OnDemand'
),

placed as (
    select -- noqa: ST06
        metered.sku,
        metered.charge,
        metered.unit,
        metered.provider_unit,
        metered.skuid,
        metered.description,
        metered.usage_unit,
        metered.effective_at,
        unnest(metered.serviceregions) as region,
        coalesce(metered.tier.startusageamount, 0.0) as begins_at,
        metered.tier.unitprice.currencycode as currency,
        (
            coalesce(try_cast(metered.tier.unitprice.units as double), 0)
            + coalesce(metered.tier.unitprice.nanos, 0) / 1e9
        ) / metered.units_in_one as amount
    from metered
),

tiered as (
    select
        *, -- noqa: AM04
        min(begins_at) filter (where amount > 0) over (partition by sku, region, skuid) as first_paid,
        min(begins_at) over (partition by sku, region, skuid) as lowest
    from placed
),

service as (
    select
        *, -- noqa: AM04
        case when begins_at = first_paid and lowest = 0 then 0.0 else begins_at end as tier_start,
        case
            when begins_at = first_paid and begins_at > lowest and lowest = 0
                then 'after ' || format('{:g}', begins_at) || ' ' || usage_unit || ' that are free'
            else ''
        end as note,
        case
            when usage_unit <> provider_unit then 'its unit: it is ' || usage_unit || ', not ' || provider_unit
            else ''
        end as missing
    from tiered
    where amount > 0 or first_paid is null or begins_at > first_paid
)

select -- noqa: ST06
    'gcp/' || instance_type as sku,
    'gcp' as provider,
    region,
    '' as zone,
    '' as provider_sku,
    instance_type,
    gpu,
    gpu_count,
    term,
    '' as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    currency,
    case when missing = '' then amount end as amount,
    cast(effective_at at time zone 'UTC' as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    'sum of the SKUs of its components' as locator,
    'high' as confidence,
    '' as note,
    missing
from added
union all by name
select -- noqa: ST06
    sku,
    'gcp' as provider,
    region,
    '' as zone,
    skuid as provider_sku,
    '' as instance_type,
    '' as gpu,
    cast(null as double) as gpu_count,
    'on_demand' as term,
    '' as payment,
    charge,
    unit,
    tier_start,
    currency,
    case when missing = '' then amount end as amount,
    cast(try_cast(effective_at as timestamptz) at time zone 'UTC' as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    skuid || ', ' || description as locator,
    'high' as confidence,
    note,
    missing
from service
