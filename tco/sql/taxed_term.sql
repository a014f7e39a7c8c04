-- One row is one term of one option: its present value after tax.
select
    split_part(key, chr(31), 1) as key,
    split_part(key, chr(31), 2) as term,
    sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) as usd
from taxed_flow
group by key
