-- One row is one candidate of one mix: the share of the work of the horizon that is done on it, month by month.
select
    mix_part.key,
    mix_part.part_key,
    sum(mix_part.variable_share * stage.work * period.months) / any_value(whole.work) as work_share
from mix_part
inner join stage
    on
        mix_part.part_key = stage.key
        and stage.month_end > mix_part.from_month
        and stage.month_end <= coalesce(mix_part.to_month, $horizon_months)
inner join period on stage.month_end = period.month_end
inner join (
    select
        stage.key,
        sum(stage.work * period.months) as work
    from stage
    inner join period on stage.month_end = period.month_end
    group by stage.key
) as whole on mix_part.part_key = whole.key
group by mix_part.key, mix_part.part_key
