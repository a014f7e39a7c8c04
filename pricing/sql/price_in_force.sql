-- One row is one question (sku, region, term) with the chosen price in force on the day: the point with the latest
-- `effective_from` that is not after it. A price for the region wins over one that holds everywhere (empty region).
-- Questions without a price have no row.
with
request as (
    select
        r.position,
        r.sku,
        r.region,
        r.term,
        cast($as_of as date) as as_of
    from (select unnest($requests, recursive := true)) as r
),

scoped_request as (
    select
        position,
        sku,
        term,
        as_of,
        region,
        0 as scope_rank
    from request
    union all
    select
        position,
        sku,
        term,
        as_of,
        '' as region,
        1 as scope_rank
    from request
    where region <> ''
),

chosen as (
    select *
    from chosen_price
    where list_contains($skus, sku)
),

in_force as (
    select
        chosen.*,
        scoped_request.position,
        scoped_request.scope_rank,
        scoped_request.as_of
    from scoped_request
    inner join chosen
        on
            scoped_request.sku = chosen.sku
            and scoped_request.region = chosen.region
            and scoped_request.term = chosen.term
            and scoped_request.as_of >= chosen.effective_from
    qualify row_number() over (
        partition by scoped_request.position
        order by scoped_request.scope_rank asc, chosen.effective_from desc
    ) = 1
)

select
    in_force.position,
    in_force.as_of,
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
    greatest(0, date_diff('day', in_force.last_seen, in_force.as_of)) as age_days
from in_force
left join price_source on in_force.source = price_source.id
order by in_force.position
