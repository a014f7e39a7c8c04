-- One row is one chosen price point of the shipped files: from when it was in force, and when it was seen last.
select
    sku,
    region,
    '' as zone,
    term,
    charge,
    usd,
    cast(effective_from as timestamp) as effective_at,
    effective_from as known_on,
    last_seen
from shipped_price
where status = 'chosen'
