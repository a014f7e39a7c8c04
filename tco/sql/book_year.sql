-- One row is one year of one candidate that buys, in the order people read it: what is written off in it, and the value
-- left in the books at its end of what is there then (at the end of the horizon: before it is sold).
with
book_end as (
    select distinct
        key,
        ceil(month_end / 12.0) as book_year
    from written_off
),

lot_end as (
    select
        book_end.key,
        book_end.book_year,
        asset_lot.category,
        asset_lot.bought_month,
        asset_lot.usd,
        asset_lot.gone_month,
        coalesce(sum(written_off.usd), 0.0) as written_off_usd,
        coalesce(sum(written_off.usd) filter (where written_off.month_end > (book_end.book_year - 1) * 12.0), 0.0)
            as year_usd
    from book_end
    inner join asset_lot on book_end.key = asset_lot.key and asset_lot.bought_month <= book_end.book_year * 12.0
    left join written_off
        on
            asset_lot.key = written_off.key
            and asset_lot.category = written_off.category
            and asset_lot.bought_month = written_off.bought_month
            and written_off.month_end <= book_end.book_year * 12.0
    group by
        book_end.key,
        book_end.book_year,
        asset_lot.category,
        asset_lot.bought_month,
        asset_lot.usd,
        asset_lot.gone_month
)

select
    key,
    book_year,
    sum(year_usd) as usd,
    coalesce(
        sum(usd - written_off_usd) filter (where gone_month > book_year * 12.0 or gone_month >= $horizon_months), 0.0
    ) as book_usd
from lot_end
group by key, book_year
order by key, book_year
