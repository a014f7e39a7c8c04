-- One row is one term of one option: its present value before and after tax. Without taxes both are the same.
-- `place` numbers the terms.
with
present as (
    select
        key,
        term,
        sum(usd * power(1.0 + $discount_rate, -month_end / 12.0)) as usd
    from drawn_flow
    group by key, term
)

select
    present.key,
    present.term,
    present.usd,
    dense_rank() over (order by present.term) as place,
    coalesce(taxed_term.usd, present.usd) as after_tax_usd
from present
left join taxed_term on present.key = taxed_term.key and present.term = taxed_term.term
