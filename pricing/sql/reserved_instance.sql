-- One row is one commitment of AWS that a store has a reserved instance's price of, and the day on which it was first
-- seen.
select
    sku,
    region,
    term,
    min(observed_on) as first_seen
from store.observation
where feed = 'aws-offer' and payment = 'no_upfront'
group by sku, region, term
