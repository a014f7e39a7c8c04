-- One row is one category of one candidate (base scenario): its USD over the horizon and in one run, and the part of
-- each whose price is documented or given.
with
shared_row as (
    select
        cash_flow.key,
        cash_flow.category,
        cash_flow.usd,
        cash_flow.basis in ('documented', 'given') as priced,
        cash_flow.usd * case
            when cash_flow.fixed_or_variable = 'variable' then 1.0 / work.runs
            when cash_flow.held then work.share_while_held
            else work.share_while_running
        end as run_usd
    from cash_flow
    inner join work on cash_flow.part_key = work.key
    where cash_flow.scenario = 'base'
)

select
    key,
    category,
    sum(usd) as horizon_usd,
    coalesce(sum(usd) filter (where priced), 0.0) as horizon_priced_usd,
    sum(run_usd) as run_usd,
    coalesce(sum(run_usd) filter (where priced), 0.0) as run_priced_usd
from shared_row
group by key, category
order by key asc, abs(sum(usd)) desc, category asc
