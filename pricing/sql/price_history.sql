-- One row is one price point of a product, oldest first within its region, term and status. Empty $region or $term
-- means all of them; rejected claims are left out unless $with_rejected.
select
    sku,
    region,
    term,
    charge,
    unit,
    usd,
    effective_from,
    last_seen,
    source,
    locator,
    confidence,
    status,
    note
from price_point
where
    sku = $sku
    and ($region = '' or region in ($region, ''))
    and ($term = '' or term = $term)
    and (status = 'chosen' or $with_rejected)
order by region, term, effective_from, status, usd
