-- One row is one price point of the shipped files.
select
    *, -- noqa: AM04
    0.0 as tier_start,
    0 as is_stored,
    cast(effective_from as timestamp) as stated_from,
    cast(null as date) as holds_until
from shipped_price
