-- One row is one dated, tagged amount of one option in one scenario (base, or every assumption at its cheap `low` or
-- dear `high` end). USD paid are positive. Month 0 is the purchase; month n is paid at the end of month n; a last part
-- of a month counts by its length. `held` costs run on while the cluster waits for work. A mix holds its shares of the
-- rows of its parts; `part_key` is the candidate that a row comes from.
select
    key as part_key,
    *
from part_flow
union all
select
    part_flow.key as part_key,
    part_flow.scenario,
    mix_part.key,
    part_flow.month_end,
    part_flow.category,
    part_flow.item,
    part_flow.capex_or_opex,
    part_flow.fixed_or_variable,
    part_flow.held,
    part_flow.usd
    * if(part_flow.fixed_or_variable = 'fixed', mix_part.fixed_share, mix_part.variable_share) as usd,
    part_flow.basis,
    part_flow.source,
    part_flow.price_date,
    part_flow.confidence,
    part_flow.price_set_month
from part_flow
inner join mix_part on part_flow.key = mix_part.part_key
inner join option_work on mix_part.key = option_work.key and option_work.priced
where
    -- What is bought at the start is had until it is sold, whenever it begins to work.
    part_flow.capex_or_opex = 'capex'
    or (
        part_flow.month_end <= coalesce(mix_part.to_month, $horizon_months)
        and (part_flow.month_end > mix_part.from_month or (part_flow.month_end = 0 and mix_part.from_month = 0))
    )
