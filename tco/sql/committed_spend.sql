-- One row is what one candidate has committed to spend in one year (base scenario).
select
    key,
    month_end,
    committed_usd
from commitment_year
where scenario = 'base'
order by key, month_end
