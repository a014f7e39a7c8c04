-- One row is one month of one candidate in which something is written off or given away: what is written off at its
-- end, and the value that the books still show for what leaves then.
with
lot_written_off as (
    select
        key,
        category,
        bought_month,
        sum(usd) as usd
    from written_off
    group by key, category, bought_month
),

dated as (
    select
        key,
        month_end,
        usd as written_off_usd,
        0.0 as left_usd
    from written_off
    union all
    select
        asset_lot.key,
        asset_lot.gone_month as month_end,
        0.0 as written_off_usd,
        asset_lot.usd - coalesce(lot_written_off.usd, 0.0) as left_usd
    from asset_lot
    left join lot_written_off
        on
            asset_lot.key = lot_written_off.key
            and asset_lot.category = lot_written_off.category
            and asset_lot.bought_month = lot_written_off.bought_month
)

select
    key,
    month_end,
    sum(written_off_usd) as written_off_usd,
    sum(left_usd) as left_usd
from dated
group by key, month_end
order by key, month_end
