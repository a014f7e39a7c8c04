-- One row is one chosen price more than 3 times above or below the one before it in its series: a missing component,
-- a currency or a unit read wrongly.
with
step as (
    select
        sku,
        region,
        term,
        effective_from,
        usd,
        lag(usd) over (partition by sku, region, term order by effective_from) as usd_before
    from price_point
    where status = 'chosen'
)

select
    sku,
    region,
    term,
    effective_from,
    usd_before || ' to ' || usd || ' USD' as finding
from step
where usd > 3 * usd_before or usd < usd_before / 3
