-- One row is one rented candidate: the share of the horizon that the work takes on it.
select
    key,
    busy_fraction
from work
where not owned
order by key
