-- One row is one candidate whose purchases in the cash flow are not quantity times price of its bill, to the cent.
-- A candidate that is only a part of mixes pays nothing itself.
-- A cent, or twelve digits of the amount: sums of more than five billion USD in floats are no closer than that.
with
bill as (
    select
        priced_line.key,
        sum(priced_line.quantity * priced_line.unit_usd * event.bought) as usd
    from priced_line
    inner join work on priced_line.key = work.key and work.listed
    inner join event
        on
            priced_line.key = event.key
            and (priced_line.category <> 'one_time' or event.month_end = 0)
    where priced_line.charge = 'once'
    group by priced_line.key
),

paid as (
    select
        cash_flow.key,
        sum(cash_flow.usd) as usd
    from cash_flow
    where
        cash_flow.scenario = 'base'
        and cash_flow.capex_or_opex = 'capex'
        and cash_flow.category <> 'resale'
        and cash_flow.item not in (select owner_cost.item from owner_cost)
        and cash_flow.part_key = cash_flow.key
    group by cash_flow.key
)

select
    coalesce(bill.key, paid.key) as candidate_key,
    coalesce(paid.usd, 0.0) || ' USD paid, the bill says ' || coalesce(bill.usd, 0.0) as finding
from bill
full outer join paid on bill.key = paid.key
where abs(coalesce(bill.usd, 0.0) - coalesce(paid.usd, 0.0)) > greatest(0.005, 1e-12 * coalesce(bill.usd, 0.0))
