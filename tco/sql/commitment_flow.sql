-- One row is what the spend of one year falls short of what was committed, paid at the year's end:
-- max(0, committed - spent).
select
    scenario,
    key,
    month_end,
    'commitment' as category,
    'Committed spend that is not used' as item,
    'opex' as capex_or_opex,
    'fixed' as fixed_or_variable,
    true as held,
    'given' as basis,
    source,
    '' as price_date,
    'high' as confidence,
    [] as inputs,
    greatest(0.0, committed_usd - spent_usd) as usd
from commitment_year
