-- One row is one candidate: the share of the horizon that the work of the first year takes on it.
select
    key,
    busy_fraction
from work
order by key
