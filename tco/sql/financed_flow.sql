-- One row is one dated amount (base scenario) of one option, as it is taxed.
select
    key,
    month_end,
    category,
    capex_or_opex,
    usd
from cash_flow
where scenario = 'base'
