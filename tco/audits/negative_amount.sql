-- One row is one amount that is received although it is not the resale, or a resale that is paid.
select
    scenario,
    key,
    month_end,
    category,
    item,
    usd || ' USD' as finding
from cash_flow
where (usd < 0 and category <> 'resale') or (usd > 0 and category = 'resale')
