-- One row is one price point of the shipped files.
select
    *, -- noqa: AM04
    0.0 as tier_start,
    0 as is_stored
from shipped_price
