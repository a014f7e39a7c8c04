-- One row is one option with the work it does: a candidate, or a mix of candidates, of which each does its share.
select
    key,
    owned,
    priced,
    competes,
    false as mixed,
    runs,
    busy_fraction,
    gpus * run_hours as gpu_hours_per_run
from work
union all
select
    mix_part.key,
    bool_or(work.owned and mix_part.fixed_share > 0) as is_owned,
    bool_and(work.priced) as priced,
    bool_and(work.competes) as competes,
    true as mixed,
    max(work.runs) as runs,
    sum(
        mix_part.variable_share
        * (coalesce(mix_part.to_month, $horizon_months) - mix_part.from_month)
        / $horizon_months
        * work.busy_fraction
    ) as busy_fraction,
    sum(
        mix_part.variable_share
        * (coalesce(mix_part.to_month, $horizon_months) - mix_part.from_month)
        / $horizon_months
        * work.gpus
        * work.run_hours
    ) as gpu_hours_per_run
from mix_part
inner join work on mix_part.part_key = work.key
group by mix_part.key
