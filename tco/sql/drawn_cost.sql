-- One row is one candidate in one draw of the uncertain inputs: the present value of its cost. Every term scales with
-- the factors of exactly the inputs that it is proportional to.
with
present as (
    select
        key,
        array_to_string(inputs, ' ') as kind,
        sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) as usd
    from cash_term
    where scenario = 'base'
    group by key, inputs
)

select
    cast(draw.number as integer) as number,
    present.key,
    sum(present.usd * coalesce(drawn_factor.factor, 1.0)) as npv_usd
from draw
cross join present
left join drawn_factor on draw.number = drawn_factor.number and present.kind = drawn_factor.kind
group by draw.number, present.key
