-- One row is one option with the work it does: a candidate, or a mix of candidates, of which each does its share.
-- `fits` tells whether what is owned has hours enough for it.
with held as (
    select
        key,
        part_key,
        max(fixed_share) as fixed_share,
        arg_min(variable_share, from_month) as first_work
    from mix_part
    group by key, part_key
)

select
    key,
    owned,
    priced,
    competes,
    false as mixed,
    runs,
    busy_fraction,
    gpus * run_hours as gpu_hours_per_run,
    not owned or busy_fraction <= 1.0 + 1e-9 as fits
from work
where listed
union all
select
    mix_work.key,
    bool_or(work.owned and held.fixed_share > 0) as is_owned,
    bool_and(work.priced) as priced,
    bool_and(work.competes or work.owned) as competes,
    true as mixed,
    max(work.runs) as runs,
    sum(mix_work.work_share * work.busy_fraction) as busy_fraction,
    sum(mix_work.work_share * work.gpus * work.run_hours) as gpu_hours_per_run,
    bool_and(not work.owned or held.first_work * work.busy_fraction <= held.fixed_share + 1e-9) as fits
from mix_work
inner join work on mix_work.part_key = work.key
inner join held on mix_work.key = held.key and mix_work.part_key = held.part_key
group by mix_work.key
