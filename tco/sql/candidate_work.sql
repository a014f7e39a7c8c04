-- One row is one option: the runs of the horizon, the share of the horizon that they take on it, GPU-hours of one, and
-- whether what is owned has hours enough for them.
select
    key,
    runs,
    busy_fraction,
    gpu_hours_per_run,
    fits
from option_work
order by key
