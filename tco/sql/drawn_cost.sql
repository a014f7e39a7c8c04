-- One row is one option in one draw of the uncertain inputs: the present value of its cost before and after tax, and
-- whether an owner can do the work of the draw at all (`fits`). Every term scales with the factors of exactly the
-- inputs that it is proportional to.
select
    cast(drawn_factor.number as integer) as number,
    drawn_present.key,
    coalesce(cast(any_value(drawn_fit.value) as boolean), true) as fits,
    sum(drawn_present.usd * drawn_factor.value) as npv_usd,
    sum(drawn_present.after_tax_usd * drawn_factor.value) as npv_after_tax_usd
from drawn_present
inner join drawn_factor on drawn_present.term = drawn_factor.key
left join drawn_fit on drawn_factor.number = drawn_fit.number and drawn_present.key = drawn_fit.key
group by drawn_factor.number, drawn_present.key
