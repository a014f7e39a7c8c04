-- One row is one year of one candidate with a committed spend: what is committed, and what the bill and its monthly
-- charges come to in that year, by the time they are for, not by the time they are paid. A last part of a year counts
-- by its length.
with
spend as (
    select
        scenario,
        key,
        sum(usd_per_month) filter (where by_the_hour_worked) as variable_usd_per_month,
        sum(usd_per_month) filter (where committed) as committed_usd_per_month,
        sum(usd_per_month) filter (where not by_the_hour_worked and not committed) as fixed_usd_per_month,
        any_value(period_months) filter (where committed) as period_months
    from rented_line
    group by scenario, key
),

charged as (
    select
        key,
        sum(usd) as usd_per_month
    from charge
    where not once
    group by key
),

committed_month as (
    select
        spend.scenario,
        spend.key,
        period.month_end,
        sum(commitment_lot.nodes) as nodes
    from spend
    inner join commitment_lot on spend.key = commitment_lot.key
    inner join period
        on
            commitment_lot.start_month < period.month_end
            and period.month_end <= commitment_lot.start_month + spend.period_months
    group by spend.scenario, spend.key, period.month_end
),

spend_month as (
    select
        spend.scenario,
        spend.key,
        period.months,
        ceil(period.month_end / 12.0) as year_number,
        coalesce(spend.variable_usd_per_month, 0.0) * stage.work as variable_usd_per_month,
        coalesce(spend.fixed_usd_per_month, 0.0)
        + coalesce(charged.usd_per_month, 0.0)
        + coalesce(spend.committed_usd_per_month, 0.0) * coalesce(committed_month.nodes, 0.0) as fixed_usd_per_month
    from spend
    inner join stage on spend.key = stage.key
    inner join period on stage.month_end = period.month_end
    left join charged on spend.key = charged.key
    left join committed_month
        on
            spend.scenario = committed_month.scenario
            and spend.key = committed_month.key
            and period.month_end = committed_month.month_end
)

select
    spend_month.scenario,
    contract.key,
    any_value(contract.source) as source,
    least(12.0 * spend_month.year_number, $horizon_months) as month_end,
    any_value(contract.committed_usd_per_year) * sum(spend_month.months) / 12.0 as committed_usd,
    sum(spend_month.variable_usd_per_month * spend_month.months) as variable_usd,
    sum(spend_month.fixed_usd_per_month * spend_month.months) as fixed_usd
from spend_month
inner join contract on spend_month.key = contract.key and contract.committed_usd_per_year > 0
group by spend_month.scenario, contract.key, spend_month.year_number
