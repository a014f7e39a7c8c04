-- One row is one price point, shipped or stored, of the first tier where a provider has several.
select * -- noqa: AM04
from known_point
where tier_start = 0
