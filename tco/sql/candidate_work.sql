-- One row is one candidate: the runs of the horizon, and the share of the horizon that they take on it.
select
    key,
    runs,
    busy_fraction
from work
order by key
