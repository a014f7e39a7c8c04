-- One row is one candidate in one scenario: what is bought, what the work of the horizon costs, its present value, and
-- what one run costs (variable costs over the runs; costs that run on while it waits by the share of the hours worked;
-- other fixed costs by the share of the horizon). The priced shares are of absolute USD.
with
shared_row as (
    select
        cash_flow.scenario,
        cash_flow.key,
        cash_flow.capex_or_opex,
        cash_flow.month_end,
        cash_flow.usd,
        cash_flow.basis in ('documented', 'given') as priced,
        cash_flow.usd * power(1.0 + $discount_rate, -cash_flow.month_end / 12.0) as present_usd,
        cash_flow.usd * case
            when cash_flow.fixed_or_variable = 'variable' then 1.0 / work.runs
            when cash_flow.held then work.share_while_held * run_time.factor
            else work.share_while_running * run_time.factor
        end as run_usd
    from cash_flow
    inner join work on cash_flow.part_key = work.key
    inner join run_time on cash_flow.part_key = run_time.key and cash_flow.scenario = run_time.scenario
)

select
    scenario,
    key,
    coalesce(sum(usd) filter (where capex_or_opex = 'capex' and month_end = 0), 0.0) as capex_usd,
    sum(usd) as horizon_usd,
    sum(present_usd) as npv_usd,
    sum(run_usd) as run_usd,
    sum(abs(usd)) filter (where priced and capex_or_opex = 'capex' and month_end = 0)
    / nullif(sum(abs(usd)) filter (where capex_or_opex = 'capex' and month_end = 0), 0.0) as capex_priced_share,
    coalesce(sum(abs(usd)) filter (where priced), 0.0) / nullif(sum(abs(usd)), 0.0) as horizon_priced_share,
    coalesce(sum(abs(run_usd)) filter (where priced), 0.0) / nullif(sum(abs(run_usd)), 0.0) as run_priced_share
from shared_row
group by scenario, key
order by scenario, key
