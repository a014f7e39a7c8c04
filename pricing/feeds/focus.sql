-- One row is one contracted price of a machine of the catalogue, as an own bill in FOCUS form charges it. It is what
-- one customer pays, never a list price, and stays apart under the term `contracted`. $extract holds the prices per
-- hour of the export's usage on demand; commitments and spot are left out, since their unit price is not what the hours
-- cost. Names are compared without signs, since Azure writes ND96isr H100 v5 for Standard_ND96isr_H100_v5; of several
-- that fit, the longest is meant. Google bills machines in parts, which are left out.
with
wanted_machine as (
    select unnest($wanted, recursive := true)
),

machine as (
    select
        *,
        regexp_replace(lower(replace(instance_type, 'Standard_', '')), '[^a-z0-9.]', '', 'g') as plain_name
    from wanted_machine
),

price as (
    select
        *,
        regexp_replace(lower(words), '[^a-z0-9.|]', '', 'g') as plain_words,
        case
            when contains(lower(provider), 'amazon') or contains(lower(provider), 'aws') then 'aws'
            when contains(lower(provider), 'microsoft') or contains(lower(provider), 'azure') then 'azure'
            else ''
        end as cloud
    from read_csv($extract, header = true, all_varchar = true, delim = ',', quote = '"', escape = '"')
    where
        not regexp_matches(lower(words), 'windows|spot|low priority|dedicated|unusedbox|unusedded')
        and coalesce(region, '') <> ''
),

named as (
    select
        price.*,
        machine.instance_type,
        machine.gpu,
        machine.gpu_count
    from price
    inner join machine on price.cloud = machine.cloud and contains(price.plain_words, machine.plain_name)
    qualify row_number() over (
        partition by price.provider, price.region, price.words, price.currency, price.amount
        order by length(machine.plain_name) desc
    ) = 1
)

select -- noqa: ST06
    cloud || '/' || instance_type as sku,
    cloud as provider,
    region,
    '' as zone,
    '' as provider_sku,
    instance_type,
    gpu,
    gpu_count,
    'contracted' as term,
    '' as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    currency,
    try_cast(amount as double) as amount,
    date_trunc('day', min(try_cast(effective_from as timestamp))) as effective_from,
    cast(null as timestamp) as effective_to,
    'own bill, ' || min(words) as locator,
    'high' as confidence,
    sum(try_cast(charges as bigint)) || ' charges at this price' as note,
    '' as missing
from named
group by all
