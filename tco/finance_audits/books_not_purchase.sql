-- One row is one candidate whose depreciation and value left in the books are not what was paid for it, to the cent.
-- A cent, or twelve digits of the amount: sums of more than five billion USD in floats are no closer than that.
with
bought as (
    select
        key,
        sum(usd) as usd
    from financed_flow
    where capex_or_opex = 'capex' and category <> 'resale'
    group by key
),

booked_lot as (
    select
        asset_lot.key,
        any_value(asset_lot.usd) as usd,
        coalesce(sum(written_off.usd), 0.0) as written_off_usd,
        coalesce(arg_max(written_off.book_usd, written_off.year), any_value(asset_lot.usd)) as book_usd,
        coalesce(min(written_off.book_usd), 0.0) as least_book_usd
    from asset_lot
    left join written_off
        on
            asset_lot.key = written_off.key
            and asset_lot.category = written_off.category
            and asset_lot.bought_month = written_off.bought_month
    group by asset_lot.key, asset_lot.category, asset_lot.bought_month
),

booked as (
    select
        key,
        sum(written_off_usd) as written_off_usd,
        sum(book_usd) as book_usd,
        min(least_book_usd) as least_book_usd
    from booked_lot
    group by key
)

select
    bought.key,
    bought.usd || ' USD bought, ' || booked.written_off_usd || ' written off, ' || booked.book_usd || ' left' as finding
from bought
inner join booked on bought.key = booked.key
where
    abs(booked.written_off_usd + booked.book_usd - bought.usd) > greatest(0.005, 1e-12 * bought.usd)
    or booked.least_book_usd < -greatest(0.005, 1e-12 * bought.usd)
