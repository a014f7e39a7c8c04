-- One row is one price of zero or less, or without a value: never a price, often a missing component or an empty cell.
select
    sku,
    region,
    term,
    effective_from,
    'price is ' || coalesce(cast(usd as varchar), 'empty') as finding
from price_point
where usd is null or usd <= 0
