-- One row is one candidate in one draw of the uncertain inputs: the present value of its cost. Every column of `draw`
-- is a factor on the base value of its input; categories scale with the factors of what they are made of.
with
base_rate as (
    select
        max(value) filter (where key = 'load_power_fraction') as load_power_fraction,
        max(value) filter (where key = 'idle_power_fraction') as idle_power_fraction
    from parameter
    where scenario = 'base' and candidate_key = ''
),

present as (
    select
        cash_flow.key,
        work.owned,
        cash_flow.category,
        cash_flow.capex_or_opex,
        cash_flow.fixed_or_variable,
        sum(cash_flow.usd * power(1.0 + $discount_rate, -cash_flow.month_end / 12.0)) as usd
    from cash_flow
    inner join work on cash_flow.part_key = work.key
    where cash_flow.scenario = 'base'
    group by cash_flow.key, work.owned, cash_flow.category, cash_flow.capex_or_opex, cash_flow.fixed_or_variable
)

select
    cast(draw.number as integer) as number,
    present.key,
    sum(
        present.usd * case
            when not present.owned and present.fixed_or_variable = 'variable'
                then draw.cloud_price * draw.utilisation * draw.run_time
            when not present.owned then 1.0
            when present.category = 'resale' then draw.purchase_price * draw.resale_fraction
            when present.category = 'installation' then draw.purchase_price * draw.installation_fraction
            when present.category = 'spares' then draw.purchase_price * draw.spares_fraction
            when present.capex_or_opex = 'capex' then draw.purchase_price
            when present.category = 'support' then draw.purchase_price * draw.support_fraction_per_year
            when present.category = 'staff' then draw.staff_fte_per_gpu * draw.staff_usd_per_fte_year
            when present.category = 'facility' then draw.colocation_usd_per_kw_month
            when present.category = 'energy' and present.fixed_or_variable = 'fixed'
                then draw.pue * draw.power_price_usd_per_kwh * draw.idle_power_fraction
            when present.category = 'energy'
                then
                    draw.pue * draw.power_price_usd_per_kwh * draw.utilisation * draw.run_time
                    * coalesce(
                        (
                            draw.load_power_fraction * base_rate.load_power_fraction
                            - draw.idle_power_fraction * base_rate.idle_power_fraction
                        )
                        / nullif(base_rate.load_power_fraction - base_rate.idle_power_fraction, 0.0),
                        1.0
                    )
            else 1.0
        end
    ) as npv_usd
from draw
cross join present
cross join base_rate
group by draw.number, present.key
