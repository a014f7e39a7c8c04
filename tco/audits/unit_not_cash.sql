-- One row is one candidate in one scenario whose cost of a run, times the runs of the horizon, is not its share of the
-- cash, to the cent: all that is paid by the hours worked; of what runs on while it waits, hours worked over the hours
-- of the stated utilisation; of everything else, hours worked over those of the horizon.
-- A cent, or twelve digits of the amounts: sums of more than five billion USD in floats are no closer than that. Work
-- of more hours than the horizon has multiplies what is paid, and with it the rounding.
with
cash as (
    select
        cash_flow.scenario,
        cash_flow.key,
        sum(abs(cash_flow.usd)) as paid_usd,
        sum(
            cash_flow.usd * case
                when cash_flow.fixed_or_variable = 'variable' then 1.0
                when cash_flow.held then work.busy_fraction * run_time.factor / $utilisation
                else work.runs * work.run_hours * run_time.factor / ($horizon_months * $hours_per_month)
            end
        ) as usd,
        max(work.runs * work.run_hours * run_time.factor / ($horizon_months * $hours_per_month)) as run_hours_of_horizon
    from cash_flow
    inner join work on cash_flow.part_key = work.key
    inner join run_time on cash_flow.part_key = run_time.key and cash_flow.scenario = run_time.scenario
    group by cash_flow.scenario, cash_flow.key
)

select
    cash.scenario,
    cash.key,
    cash.usd || ' USD of cash, ' || run_cost.run_usd || ' a run' as finding
from cash
inner join option_work on cash.key = option_work.key
left join run_cost on cash.scenario = run_cost.scenario and cash.key = run_cost.key
where
    run_cost.run_usd is null
    or abs(run_cost.run_usd * option_work.runs - cash.usd)
    > greatest(0.005, 1e-12 * cash.paid_usd * greatest(1.0, cash.run_hours_of_horizon))
