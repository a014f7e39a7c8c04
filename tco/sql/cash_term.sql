-- One row is one dated, tagged part of an amount of one option, with the inputs it is proportional to (the names of the
-- columns of a draw): what `cash_flow` shows and what draws of uncertain inputs scale. A mix holds its shares of the
-- rows of its parts; `part_key` is the candidate that a row comes from. `usd` is what the base comes to, `usd_each` is
-- for one unit of `scaled_by` (see `part_term`).
select
    part_term.key,
    part_term.key as part_key,
    part_term.scenario,
    part_term.month_end,
    part_term.category,
    part_term.item,
    part_term.capex_or_opex,
    part_term.fixed_or_variable,
    part_term.held,
    part_term.inputs,
    part_term.basis,
    part_term.source,
    part_term.price_date,
    part_term.confidence,
    part_term.is_part,
    part_term.price_set_month,
    part_term.scaled_by,
    part_term.usd_each,
    part_term.usd
from part_term
union all
select
    mix_part.key,
    part_term.key as part_key,
    part_term.scenario,
    part_term.month_end,
    part_term.category,
    part_term.item,
    part_term.capex_or_opex,
    part_term.fixed_or_variable,
    part_term.held,
    part_term.inputs,
    part_term.basis,
    part_term.source,
    part_term.price_date,
    part_term.confidence,
    part_term.is_part,
    part_term.price_set_month,
    part_term.scaled_by,
    part_term.usd_each
    * if(part_term.fixed_or_variable = 'fixed', mix_part.fixed_share, mix_part.variable_share) as usd_each,
    part_term.usd
    * if(part_term.fixed_or_variable = 'fixed', mix_part.fixed_share, mix_part.variable_share) as usd
from part_term
inner join mix_part on part_term.key = mix_part.part_key
inner join option_work on mix_part.key = option_work.key and option_work.priced
where
    -- What is bought at the start is had until it is sold, whenever it begins to work.
    part_term.capex_or_opex = 'capex'
    or (
        part_term.month_end <= coalesce(mix_part.to_month, $horizon_months)
        and (part_term.month_end > mix_part.from_month or (part_term.month_end = 0 and mix_part.from_month = 0))
    )
