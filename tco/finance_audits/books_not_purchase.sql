-- One row is one candidate whose depreciation and value left in the books are not what was paid for it, to the cent.
with
bought as (
    select
        key,
        sum(usd) as usd
    from financed_flow
    where capex_or_opex = 'capex' and category <> 'resale'
    group by key
),

booked as (
    select
        key,
        sum(usd) as written_off_usd,
        arg_max(book_usd, year) as book_usd,
        min(book_usd) as least_book_usd
    from written_off
    group by key
)

select
    bought.key,
    bought.usd || ' USD bought, ' || booked.written_off_usd || ' written off, ' || booked.book_usd || ' left' as finding
from bought
inner join booked on bought.key = booked.key
where
    abs(booked.written_off_usd + booked.book_usd - bought.usd) > 0.005
    or booked.least_book_usd < -0.005
