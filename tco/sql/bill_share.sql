-- One row is what one option pays of the bills of one candidate, between two months: all of its own, and of those of
-- the candidates that it mixes, shares by what is fixed and what is worked.
select
    key,
    key as part_key,
    1.0 as fixed_share,
    1.0 as variable_share,
    0.0 as from_month,
    $horizon_months as to_month
from work
union all
select
    key,
    part_key,
    fixed_share,
    variable_share,
    from_month,
    coalesce(to_month, $horizon_months) as to_month
from mix_part
order by key, part_key, from_month
