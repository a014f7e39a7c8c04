-- One row is one year of one candidate that buys, in the order people read it.
select
    key,
    year,
    usd,
    book_usd
from written_off
order by key, year
