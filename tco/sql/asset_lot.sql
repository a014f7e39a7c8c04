-- One row is what one candidate buys in one category in one month, and the month in which it is given away: at the age
-- of refresh where equipment is replaced, else at the end of the horizon. Paid at order and at delivery are two.
select
    key,
    category,
    month_end as bought_month,
    sum(usd) as usd,
    if(
        category in ('building', 'software', 'one_time'),
        $horizon_months,
        least(
            if(key = $owned_key || '/bridged' and month_end = $delivery_months, 0.0, month_end)
            + coalesce(cast($refresh_months as double), $horizon_months),
            $horizon_months
        )
    ) as gone_month
from financed_flow
where capex_or_opex = 'capex' and category <> 'resale'
group by key, category, month_end
