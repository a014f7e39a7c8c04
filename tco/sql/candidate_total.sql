-- One row is one candidate in one scenario: what is bought, what the work of the horizon costs, and its present value.
-- The priced shares are of absolute USD. What one run costs is counted from `run_total`.
with
valued as (
    select
        scenario,
        key,
        capex_or_opex,
        month_end,
        usd,
        basis in ('documented', 'given') as priced,
        usd * power(1.0 + $discount_rate, -month_end / 12.0) as present_usd
    from cash_flow
)

select
    scenario,
    key,
    coalesce(sum(usd) filter (where capex_or_opex = 'capex' and month_end = 0), 0.0) as capex_usd,
    sum(usd) as horizon_usd,
    sum(present_usd) as npv_usd,
    sum(abs(usd)) filter (where priced and capex_or_opex = 'capex' and month_end = 0)
    / nullif(sum(abs(usd)) filter (where capex_or_opex = 'capex' and month_end = 0), 0.0) as capex_priced_share,
    coalesce(sum(abs(usd)) filter (where priced), 0.0) / nullif(sum(abs(usd)), 0.0) as horizon_priced_share
from valued
group by scenario, key
order by scenario, key
