-- One row is one candidate whose cheap end costs more than its base, or whose dear end costs less.
with
total as (
    select
        key,
        sum(usd) filter (where scenario = 'low') as low_usd,
        sum(usd) filter (where scenario = 'base') as base_usd,
        sum(usd) filter (where scenario = 'high') as high_usd
    from cash_flow
    group by key
)

select
    key,
    low_usd || ' to ' || base_usd || ' to ' || high_usd || ' USD' as finding
from total
where low_usd > base_usd + 0.005 or high_usd < base_usd - 0.005
