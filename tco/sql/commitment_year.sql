-- One row is one year of one candidate with a committed spend: what is committed, and what the bill and its monthly
-- charges come to in that year, by the time they are for, not by the time they are paid. A last part of a year counts
-- by its length. Committed nodes grow with the work once all their hours are used, as in `rent_flow`.
with
spend as (
    select
        scenario,
        key,
        max(busy_fraction) as busy_fraction,
        sum(usd_per_month) filter (where by_the_hour_worked) as variable_usd_per_month,
        sum(usd_per_month) filter (where committed) as committed_usd_per_month,
        sum(usd_per_month) filter (where not by_the_hour_worked and not committed) as fixed_usd_per_month
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

contract_year as (
    select
        contract.key,
        contract.source,
        contract.committed_usd_per_year,
        power(1.0 + $growth_per_year, counted.number - 1.0) as work_factor,
        least(12.0 * counted.number, $horizon_months) as month_end,
        least(12.0 * counted.number, $horizon_months) - 12.0 * (counted.number - 1) as months
    from contract
    cross join unnest(range(1, cast(ceil($horizon_months / 12.0) as bigint) + 1)) as counted (number)
    where contract.committed_usd_per_year > 0
)

select
    spend.scenario,
    contract_year.key,
    contract_year.month_end,
    contract_year.source,
    contract_year.committed_usd_per_year * contract_year.months / 12.0 as committed_usd,
    coalesce(spend.variable_usd_per_month, 0.0)
    * contract_year.months
    * contract_year.work_factor as variable_usd,
    (
        coalesce(spend.fixed_usd_per_month, 0.0)
        + coalesce(charged.usd_per_month, 0.0)
        + coalesce(spend.committed_usd_per_month, 0.0)
        * greatest(1.0, spend.busy_fraction * contract_year.work_factor)
        / greatest(1.0, spend.busy_fraction)
    )
    * contract_year.months as fixed_usd
from contract_year
inner join spend on contract_year.key = spend.key
left join charged on contract_year.key = charged.key
