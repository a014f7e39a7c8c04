-- One row is one question (sku, region, term) with the chosen price in force on the day: the point with the latest
-- `effective_from` that is not after it. A price for the region wins over one that holds everywhere (empty region).
-- Questions without a price have no row.
with
request as (
    select
        r.position,
        r.sku,
        r.region,
        r.term
    from (select unnest($requests, recursive := true)) as r
),

-- The lists say again what is asked about, so that nothing else is read.
known_price as (
    select *
    from price_on($as_of, $skus)
    where list_contains($regions, region) and list_contains($terms, term)
),

in_force as (
    select
        known_price.*,
        request.position
    from request
    inner join known_price
        on
            request.sku = known_price.sku
            and request.term = known_price.term
            and known_price.region in (request.region, '')
    qualify row_number() over (partition by request.position order by known_price.region desc) = 1
)

select
    in_force.position,
    cast($as_of as date) as as_of,
    in_force.sku,
    in_force.region,
    in_force.term,
    in_force.charge,
    in_force.unit,
    in_force.usd,
    in_force.effective_from,
    in_force.last_seen,
    in_force.source,
    in_force.locator,
    in_force.confidence,
    in_force.status,
    in_force.note,
    coalesce(price_source.title || ' (' || price_source.place || ')', in_force.source) as source_title,
    date_diff('day', in_force.last_seen, cast($as_of as date)) as age_days
from in_force
left join price_source on in_force.source = price_source.id
order by in_force.position
