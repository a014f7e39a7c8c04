-- One row is one option in one draw of the uncertain inputs: the present value of its cost before and after tax, and
-- whether an owner can do the work of the draw at all (`fits`). Every term scales with its factor in the draw.
with
total as (
    select
        drawn_factor.number,
        drawn_present.key,
        sum(drawn_present.usd * drawn_factor.value) as npv_usd,
        sum(drawn_present.after_tax_usd * drawn_factor.value) as npv_after_tax_usd
    from drawn_present
    inner join drawn_factor on drawn_present.place = drawn_factor.key
    group by drawn_factor.number, drawn_present.key
)

select
    cast(total.number as integer) as number,
    total.key,
    total.npv_usd,
    total.npv_after_tax_usd,
    coalesce(cast(drawn_fit.value as boolean), true) as fits
from total
left join drawn_fit on total.number = drawn_fit.number and total.key = drawn_fit.key
