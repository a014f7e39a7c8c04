-- One row is one candidate of one mix: the share of the work of the horizon that is done on it, month by month.
with
worked as (
    select
        stage.key,
        stage.month_end,
        stage.work * period.months as month_work,
        sum(stage.work * period.months) over (partition by stage.key) as whole_work
    from stage
    inner join period on stage.month_end = period.month_end
)

select
    mix_part.key,
    mix_part.part_key,
    sum(mix_part.variable_share * worked.month_work / worked.whole_work) as work_share
from mix_part
inner join worked
    on
        mix_part.part_key = worked.key
        and mix_part.from_month < worked.month_end
        and coalesce(mix_part.to_month, $horizon_months) >= worked.month_end
group by mix_part.key, mix_part.part_key
