-- One row: the newest day on which a chosen price was seen, the default as-of day.
select max(last_seen) as newest_day
from price_point
where status = 'chosen'
