-- One row is one chosen price in force on the day $as_of of what is no accelerator and no equipment: storage, network,
-- data out, licences, power and rooms, by kind, provider and tier. A tier is the quantity from which its price holds;
-- where a tier is a product of its own, its name says so. The kind is that of $items, else it follows from name and
-- unit. Empty $kind, $provider, $term or $region means all of them.
with
item as (
    select
        i.sku,
        i.category,
        i.item
    from (select unnest($items, recursive := true)) as i
),

known_price as (
    select * replace (least(last_seen, cast($as_of as date)) as last_seen)
    from known_point
    where
        status = 'chosen'
        and charge <> 'once'
        and effective_from <= cast($as_of as date)
        and (holds_until is null or holds_until >= cast($as_of as date))
        and $term in ('', term)
        and ($region = '' or region in ($region, ''))
    qualify row_number() over (
        partition by sku, region, term, tier_start
        order by effective_from desc, precedence desc, stated_from desc, usd asc
    ) = 1
),

named as (
    select
        known_price.*,
        item.item,
        case when contains(known_price.sku, '/') then split_part(known_price.sku, '/', 1) else '' end as provider,
        case
            when item.category is not null then item.category
            when known_price.sku like 'index/%' then 'index'
            when known_price.sku like '%/egress%' then 'egress'
            when known_price.unit = 'kWh' then 'electricity'
            when known_price.unit = 'kW' then 'colocation'
            when known_price.unit = 'GPU' then 'licence'
            when known_price.unit in ('GiB', 'GB') and known_price.charge = 'monthly' then 'storage'
            else 'other'
        end as kind
    from known_price
    left join item on known_price.sku = item.sku
    anti join gpu_product on known_price.sku = gpu_product.sku
)

select
    kind,
    provider,
    sku,
    region,
    term,
    tier_start,
    usd,
    unit,
    charge,
    effective_from,
    last_seen,
    source,
    locator,
    confidence,
    note,
    coalesce(item, '') as item,
    date_diff('day', last_seen, cast($as_of as date)) as age_days
from named
where $kind in ('', kind) and $provider in ('', provider)
order by kind, provider, sku, region, term, tier_start
