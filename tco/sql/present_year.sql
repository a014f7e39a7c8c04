-- One row is one year of a candidate's base scenario: what is paid in it, and the present value of each month of it.
-- Year 0 is the start, year 1 the first twelve months.
select
    cast(ceil(month_end / 12.0) as integer) as horizon_year,
    sum(usd) as usd,
    sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) as present_usd
from cash_flow
where scenario = 'base' and key = $key
group by horizon_year
order by horizon_year
