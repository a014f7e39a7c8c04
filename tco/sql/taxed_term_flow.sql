-- One row is one dated amount of one term of one option, as `financed_flow` has it of one option: taxes are linear, so
-- that those of the terms sum to those of the option.
select
    month_end,
    category,
    capex_or_opex,
    usd,
    key || chr(31) || term as key
from drawn_flow
