-- One row is one month of the horizon in which a candidate that pays by the month pays nothing.
with
period as (
    select least(counted.number, $horizon_months) as month_end
    from (select unnest(range(1, cast(ceil($horizon_months) as bigint) + 1)) as number) as counted
),

payer as (
    select distinct
        scenario,
        key
    from cash_flow
    where capex_or_opex = 'opex'
)

select
    payer.scenario,
    payer.key,
    period.month_end,
    'nothing is paid' as finding
from payer
cross join period
left join cash_flow
    on
        payer.scenario = cash_flow.scenario
        and payer.key = cash_flow.key
        and period.month_end = cash_flow.month_end
        and cash_flow.capex_or_opex = 'opex'
where cash_flow.key is null
