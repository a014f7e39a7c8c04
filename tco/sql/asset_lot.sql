-- One row is what one option buys in one category in one month, and the month in which it is given away: at the age
-- of refresh where equipment is replaced, else at the end of the horizon. Paid at order and at delivery are two; both
-- are as old as the order. A key may be that of an option followed by a term of it.
with
bought as (
    select
        financed_flow.key,
        financed_flow.category,
        financed_flow.month_end as bought_month,
        if(any_value(mix.delivery_months) = financed_flow.month_end, 0.0, financed_flow.month_end) as ordered_month,
        sum(financed_flow.usd) as usd
    from financed_flow
    left join mix on split_part(financed_flow.key, chr(31), 1) = mix.key and mix.deposit < 1
    where financed_flow.capex_or_opex = 'capex' and financed_flow.category <> 'resale'
    group by financed_flow.key, financed_flow.category, financed_flow.month_end
)

select
    key,
    category,
    bought_month,
    usd,
    if(
        category in ('building', 'software', 'one_time'),
        $horizon_months,
        least(ordered_month + coalesce(cast($refresh_months as double), $horizon_months), $horizon_months)
    ) as gone_month
from bought
