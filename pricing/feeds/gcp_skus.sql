-- One row is one price of a GPU machine type, added up from the SKUs of its cores, memory, accelerators and local disk
-- in Google's Cloud Billing Catalog, which has no price of a machine. Regions are those of the SKU, never those of its
-- text; sizes come from the catalogue. A component without a price, or with several, is named in `missing`: a machine
-- without its accelerators is never a price.
with
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
        sum(component.quantity * matched.amount) as amount,
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
    amount,
    cast(effective_at at time zone 'UTC' as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    'sum of the SKUs of its components' as locator,
    'high' as confidence,
    '' as note,
    missing
from added
