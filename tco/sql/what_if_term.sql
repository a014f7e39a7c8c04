-- One row is what one option pays in all, and in present value, of the terms that move with the same inputs: those of
-- `inputs`, and the price of rented nodes where one was agreed (`rented`). Charges on a whole bill are left out: they
-- are no sum of terms.
select
    key,
    inputs,
    price_path <> '' as rented,
    sum(usd) as paid_usd,
    sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) as present_usd
from drawn_flow
where category <> 'bill'
group by key, inputs, price_path <> ''
order by key, inputs, rented
