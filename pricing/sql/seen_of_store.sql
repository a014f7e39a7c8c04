-- One row is one price as a store's document showed it on a day, of a zone or of the whole region: from when it was in
-- force by the provider's own words, and the day on which it was seen.
select
    sku,
    region,
    zone,
    term,
    charge,
    usd,
    effective_from as effective_at,
    observed_on as known_on,
    observed_on as last_seen
from stored_price
where tier_start = 0
