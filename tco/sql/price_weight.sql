-- One row is what of one term is paid at prices agreed at the start of one month: its present value. Month 0 is today.
-- `part_key` is the candidate whose nodes are paid.
select
    price_path,
    part_key,
    cast(price_set_month as integer) as agreed_month,
    sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) as usd
from drawn_flow
where price_path <> ''
group by price_path, part_key, agreed_month
order by price_path, agreed_month
