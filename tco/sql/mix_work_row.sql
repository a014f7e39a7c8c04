-- One row is one candidate of one mix: the share of the work of the horizon that is done on it.
select
    key,
    part_key,
    work_share
from mix_work
order by key, part_key
