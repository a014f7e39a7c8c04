-- One row is one part of one option in one scenario, with what one run's cost is counted from: its USD over the horizon
-- that are paid by the hours worked, of what is held for the work, and of everything else; the same without signs, and
-- without signs where the price is documented or given; and the shares of them that one run takes.
with
paid as (
    select
        scenario,
        key,
        part_key,
        usd,
        basis in ('documented', 'given') as priced,
        case
            when fixed_or_variable = 'variable' then 'variable'
            when held then 'held'
            else 'running'
        end as kind
    from cash_flow
)

select
    paid.scenario,
    paid.key,
    coalesce(fsum(paid.usd) filter (where paid.kind = 'variable'), 0.0) as variable_usd,
    coalesce(fsum(paid.usd) filter (where paid.kind = 'held'), 0.0) as held_usd,
    coalesce(fsum(paid.usd) filter (where paid.kind = 'running'), 0.0) as running_usd,
    coalesce(fsum(abs(paid.usd)) filter (where paid.kind = 'variable'), 0.0) as variable_absolute_usd,
    coalesce(fsum(abs(paid.usd)) filter (where paid.kind = 'held'), 0.0) as held_absolute_usd,
    coalesce(fsum(abs(paid.usd)) filter (where paid.kind = 'running'), 0.0) as running_absolute_usd,
    coalesce(fsum(abs(paid.usd)) filter (where paid.kind = 'variable' and paid.priced), 0.0) as variable_priced_usd,
    coalesce(fsum(abs(paid.usd)) filter (where paid.kind = 'held' and paid.priced), 0.0) as held_priced_usd,
    coalesce(fsum(abs(paid.usd)) filter (where paid.kind = 'running' and paid.priced), 0.0) as running_priced_usd,
    any_value(work.runs) as runs,
    any_value(work.share_while_held * run_time.factor) as share_while_held,
    any_value(work.share_while_running * run_time.factor) as share_while_running
from paid
inner join work on paid.part_key = work.key
inner join run_time on paid.part_key = run_time.key and paid.scenario = run_time.scenario
group by paid.scenario, paid.key, paid.part_key
order by paid.scenario, paid.key, paid.part_key
