-- One row is one owned candidate: what its meter draws over the horizon (base scenario): nameplate x (idle share of
-- what stands + what work adds) x PUE x hours.
with
rate as (
    select
        work.key,
        arg_max(parameter.value, parameter.candidate_key) filter (where parameter.key = 'pue') as pue,
        arg_max(parameter.value, parameter.candidate_key) filter (where parameter.key = 'load_power_fraction')
            as load_power_fraction,
        arg_max(parameter.value, parameter.candidate_key) filter (where parameter.key = 'idle_power_fraction')
            as idle_power_fraction
    from work
    inner join parameter on parameter.scenario = 'base' and parameter.candidate_key in ('', work.key)
    group by work.key
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
inner join rate on work.key = rate.key
where work.owned and work.it_power_w is not null
group by work.key
order by work.key
