-- One row is one candidate whose cost in the books is not its cost in cash, or whose tax is not the rate on all of it,
-- A cent, or twelve digits of the amount: sums of more than five billion USD in floats are no closer than that.
-- to the cent: over the whole horizon, every dollar of cost lowers income once.
with
cash as (
    select
        key,
        sum(usd) as usd
    from financed_flow
    group by key
),

taxed as (
    select
        key,
        sum(usd) as usd,
        coalesce(sum(usd) filter (where kind <> 'cash'), 0.0) as tax_usd
    from taxed_flow
    group by key
)

select
    cash.key,
    cash.usd || ' USD in cash, ' || taxed.tax_usd || ' of tax' as finding
from cash
left join taxed on cash.key = taxed.key
where
    taxed.key is null
    or abs(taxed.tax_usd + $tax_rate * cash.usd) > greatest(0.005, 1e-12 * abs(cash.usd))
    or abs(taxed.usd - (1.0 - $tax_rate) * cash.usd) > greatest(0.005, 1e-12 * abs(cash.usd))
