-- One row is the newest known rate of a currency on or before a day.
select
    currency,
    day,
    usd_per_currency,
    source
from known_rate
where currency = $currency and day <= cast($as_of as date)
order by day desc
limit 1
