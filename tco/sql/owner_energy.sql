-- One row is one owned candidate: what its meter draws over the horizon (base scenario): nameplate x (idle share of
-- what stands + what work adds) x PUE x hours.
with
rate as (
    select
        max(value) filter (where key = 'pue') as pue,
        max(value) filter (where key = 'load_power_fraction') as load_power_fraction,
        max(value) filter (where key = 'idle_power_fraction') as idle_power_fraction
    from parameter
    where scenario = 'base' and candidate_key = ''
)

select
    work.key,
    sum(
        work.it_power_w
        / 1000.0
        * rate.pue
        * period.months
        * $hours_per_month
        * (
            rate.idle_power_fraction * stage.capacity
            + (rate.load_power_fraction - rate.idle_power_fraction) * work.busy_fraction * stage.work
        )
    ) as kwh
from work
inner join stage on work.key = stage.key
inner join period on stage.month_end = period.month_end
cross join rate
where work.owned and work.it_power_w is not null
group by work.key
order by work.key
