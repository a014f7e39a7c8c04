-- One row is one year of one lot that is bought: what is written off at its end, and the value then left in the books.
-- Years count from the month in which it is paid; the last one is the last that ends before it is given away; what is
-- left then is taken off the sale.
select
    asset_lot.key,
    asset_lot.category,
    asset_lot.bought_month,
    depreciation_year.year,
    asset_lot.bought_month + depreciation_year.year * 12.0 as month_end,
    asset_lot.usd * depreciation_year.fraction as usd,
    asset_lot.usd - sum(asset_lot.usd * depreciation_year.fraction) over (
        partition by asset_lot.key, asset_lot.category, asset_lot.bought_month
        order by depreciation_year.year
        rows between unbounded preceding and current row
    ) as book_usd
from asset_lot
inner join depreciation_year on asset_lot.category = depreciation_year.category
where asset_lot.bought_month + depreciation_year.year * 12.0 <= asset_lot.gone_month
