-- One row is one candidate (base scenario): what a useful GPU-hour costs when its equipment is charged at a fixed rate
-- a year: ((purchases - present value of resale) x fixed charge rate + running costs of a year) / useful GPU-hours of a
-- year. `levelisation` holds the rate and the hours of each candidate, the discount rate that its annuity was made with
-- (of the economics, where it is empty), and the age at which what is left at the end is sold (the horizon).
-- Interest is in the fixed charge rate.
with
dated as (
    select
        cash_flow.key,
        cash_flow.category,
        cash_flow.capex_or_opex,
        cash_flow.usd,
        cash_flow.usd * power(
            1.0 + coalesce(levelisation.discount_rate, $discount_rate),
            -if(
                cash_flow.category = 'resale' and cash_flow.month_end = $horizon_months,
                coalesce(levelisation.life_months, cash_flow.month_end),
                cash_flow.month_end
            ) / 12.0
        ) as present_usd
    from cash_flow
    inner join levelisation on cash_flow.key = levelisation.key
    where cash_flow.scenario = 'base'
),

amount as (
    select
        key,
        coalesce(sum(present_usd) filter (where capex_or_opex = 'capex' and category <> 'resale'), 0.0) as capex_usd,
        coalesce(sum(present_usd) filter (where category = 'resale'), 0.0) as present_resale_usd,
        coalesce(sum(usd) filter (where capex_or_opex = 'opex' and category <> 'interest'), 0.0)
        / ($horizon_months / 12.0) as opex_usd_per_year
    from dated
    group by key
)

select
    amount.key,
    levelisation.fixed_charge_rate,
    amount.opex_usd_per_year,
    (amount.capex_usd + amount.present_resale_usd) * levelisation.fixed_charge_rate as capital_usd_per_year,
    (
        (amount.capex_usd + amount.present_resale_usd) * levelisation.fixed_charge_rate
        + amount.opex_usd_per_year
    ) / levelisation.useful_gpu_hours_per_year as usd_per_useful_gpu_hour
from amount
inner join levelisation on amount.key = levelisation.key
order by amount.key
