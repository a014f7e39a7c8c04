-- One row is one year of one candidate that buys: what is written off at its end, and the value then left in the books.
-- The last year of the horizon is the last one; what is left is taken off the sale. Categories of purchase alone.
with
bought as (
    select
        key,
        sum(usd) as usd
    from financed_flow
    where capex_or_opex = 'capex' and category <> 'resale'
    group by key
)

select
    bought.key,
    depreciation_year.year,
    depreciation_year.year * 12.0 as month_end,
    bought.usd * depreciation_year.fraction as usd,
    bought.usd - sum(bought.usd * depreciation_year.fraction) over (
        partition by bought.key
        order by depreciation_year.year
        rows between unbounded preceding and current row
    ) as book_usd
from bought
cross join depreciation_year
where depreciation_year.year * 12.0 <= $horizon_months
