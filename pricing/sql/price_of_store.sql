-- One row is one price as a store's document showed it on a day, in the form of a price point: used from the later of
-- the provider's day and the day it was seen. Prices of single zones are no price of their region, and tiers above the
-- first none of a bill. What had ended before it was seen is no price; an offer or contract (a list of quotes) holds
-- until its last day, while the end that a provider names is that of a row which the next reading replaces.
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
    effective_from as stated_from,
    case when feed like 'quotes:%' then cast(effective_to as date) end as holds_until,
    greatest(cast(effective_from as date), observed_on) as effective_from
from stored_price
where zone = '' and coalesce(cast(effective_to as date) >= observed_on, true)
