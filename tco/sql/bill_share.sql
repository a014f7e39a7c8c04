-- One row is what one option pays of the bills of one candidate, between two months: all of its own, and of those of
-- the candidates that it mixes, shares by what is fixed and what is worked.
select
    key,
    key as part_key,
    false as mixed,
    1.0 as fixed_share,
    0.0 as from_month,
    $horizon_months as to_month
from work
where listed
union all
select
    key,
    part_key,
    true as mixed,
    fixed_share,
    from_month,
    coalesce(to_month, $horizon_months) as to_month
from mix_part
order by key, part_key, from_month
