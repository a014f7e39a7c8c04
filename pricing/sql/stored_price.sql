-- One row is one price of a store that may count: of all payments of a commitment the one that a bill takes.
-- This is the one place that chooses between the ways to pay for a commitment. A bill has every hour in the month it is
-- used in, so that its price is the one without payment ahead (`no_upfront`): an effective price by the hour of a fee
-- that is paid on the first day leaves out what the money costs until then. Of AWS it is the standard class, since a
-- plan names the type it keeps, and a savings plan only where no reserved instance had been seen until that day. What
-- has a fee (`partial_upfront`, `all_upfront`), convertible classes and plans for one family are kept and not used,
-- except in a list of quotes: a contract of one's own is the price, however it is paid.
select observation.* -- noqa: AM04
from store.observation
left join reserved_instance
    on
        observation.sku = reserved_instance.sku
        and observation.region = reserved_instance.region
        and observation.term = reserved_instance.term
        and observation.feed = 'aws-savings-plans'
        and observation.observed_on >= reserved_instance.first_seen
where
    reserved_instance.sku is null
    and (
        observation.payment in ('', 'no_upfront')
        or observation.term not in ('reserved_1y', 'reserved_3y')
        or observation.feed like 'quotes:%'
    )
