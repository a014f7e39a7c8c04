-- One row is one candidate: what it costs before and after tax over the horizon, the present value after tax, the cash
-- out at most, and the same total as the books show it (running costs, what is written off, loss on disposal).
with
dated as (
    select
        key,
        month_end,
        sum(usd) as usd
    from taxed_flow
    group by key, month_end
),

paid as (
    select
        key,
        sum(usd) over (
            partition by key order by month_end rows between unbounded preceding and current row
        ) as usd
    from dated
),

peak as (
    select
        key,
        max(usd) as usd
    from paid
    group by key
),

booked as (
    select
        financed_flow.key,
        coalesce(sum(financed_flow.usd) filter (where financed_flow.capex_or_opex = 'opex'), 0.0) as opex_usd,
        coalesce(sum(financed_flow.usd) filter (where financed_flow.capex_or_opex = 'capex'), 0.0) as net_capex_usd
    from financed_flow
    group by financed_flow.key
),

written as (
    select
        key,
        sum(usd) as usd
    from written_off
    group by key
),

total as (
    select
        key,
        coalesce(sum(usd) filter (where kind = 'cash'), 0.0) as before_tax_usd,
        sum(usd) as after_tax_usd,
        sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) as npv_after_tax_usd,
        coalesce(
            sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) filter (where kind = 'cash'), 0.0
        ) as npv_before_tax_usd
    from taxed_flow
    group by key
)

select
    total.key,
    total.before_tax_usd,
    total.after_tax_usd,
    total.npv_before_tax_usd,
    total.npv_after_tax_usd,
    peak.usd as peak_cash_usd,
    booked.opex_usd,
    coalesce(written.usd, 0.0) as depreciation_usd,
    booked.net_capex_usd - coalesce(written.usd, 0.0) as loss_on_disposal_usd
from total
inner join peak on total.key = peak.key
inner join booked on total.key = booked.key
left join written on total.key = written.key
order by total.npv_after_tax_usd, total.key
