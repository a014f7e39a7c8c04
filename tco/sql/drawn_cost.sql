-- One row is one option in one draw of the uncertain inputs: the present value of its cost before and after tax, and
-- whether an owner can do the work of the draw at all (`fits`). Every term scales with the factors of exactly the
-- inputs that it is proportional to.
select
    cast(draw.number as integer) as number,
    drawn_present.key,
    coalesce(any_value(option_work.busy_fraction * draw_work.work) <= 1.0 + 1e-9, true) as fits,
    sum(drawn_present.usd * coalesce(drawn_factor.factor, 1.0)) as npv_usd,
    sum(drawn_present.after_tax_usd * coalesce(drawn_factor.factor, 1.0)) as npv_after_tax_usd
from draw
cross join drawn_present
inner join option_work on drawn_present.key = option_work.key
left join draw_work on draw.number = draw_work.number and drawn_present.key = draw_work.key
left join drawn_factor on draw.number = drawn_factor.number and drawn_present.term = drawn_factor.term
group by draw.number, drawn_present.key
