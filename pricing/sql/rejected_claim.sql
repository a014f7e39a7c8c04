-- One row is one price that a source stated and that is not used, with the reason in its note. Empty $sku means all of
-- them.
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
where status = 'rejected' and $sku in ('', sku)
order by source, sku, region, term, effective_from, usd
