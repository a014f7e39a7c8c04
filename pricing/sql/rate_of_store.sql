-- One row is what one unit of a currency was worth in USD on a day, as the store keeps it.
select
    currency,
    day,
    usd_per_currency,
    source
from store.exchange_rate
