-- One row is one price as a store's document showed it on a day, in the form of a price point: used from the later of
-- the provider's day and the day it was seen. Prices of single zones are no price of their region, and tiers above the
-- first none of a bill.
select
    sku,
    region,
    term,
    charge,
    unit,
    usd,
    observed_on as last_seen,
    source,
    locator,
    confidence,
    'chosen' as status,
    note,
    tier_start,
    1 as is_stored,
    greatest(cast(effective_from as date), observed_on) as effective_from
from stored_price
where zone = ''
