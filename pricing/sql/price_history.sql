-- One row is one price point of a product, oldest first within its region, term and status. Empty $region or $term
-- means all of them; rejected claims are left out unless $with_rejected, and so is what nobody knew on the day $as_of
-- (empty: ever).
select
    sku,
    region,
    term,
    charge,
    unit,
    usd,
    effective_from,
    source,
    locator,
    confidence,
    status,
    note,
    least(last_seen, cast($as_of as date)) as last_seen
from price_point
where
    sku = $sku
    and ($region = '' or region in ($region, ''))
    and ($term = '' or term = $term)
    and (status = 'chosen' or $with_rejected)
    and coalesce(effective_from <= cast($as_of as date), true)
order by region, term, effective_from, status, usd
