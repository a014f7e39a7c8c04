-- One row is one price point of any tier, shipped or stored. Of several prices of one product, region, term and day the
-- one with the highest precedence is chosen: a fetched one wins over a shipped one, then the better documented.
select
    *, -- noqa: AM04
    4 * is_stored - coalesce(list_position(['high', 'medium', 'low'], confidence), 4) as precedence
from every_point
