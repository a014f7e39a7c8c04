-- One row is one option: the runs of the horizon, the share of the horizon that they take on it, and GPU-hours of one.
select
    key,
    runs,
    busy_fraction,
    gpu_hours_per_run
from option_work
order by key
