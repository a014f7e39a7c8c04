-- One row is one amount without a value or without one of its tags.
select
    scenario,
    key,
    month_end,
    category,
    item,
    'a value or a tag is missing' as finding
from cash_flow
where
    usd is null
    or not isfinite(usd)
    or month_end is null
    or coalesce(category, '') = ''
    or capex_or_opex not in ('capex', 'opex', 'financing')
    or fixed_or_variable not in ('fixed', 'variable')
    or basis not in ('documented', 'given', 'assumed')
    or coalesce(source, '') = ''
