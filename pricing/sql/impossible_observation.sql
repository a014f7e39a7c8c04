-- One row is one price of an archive that no store can have written: not positive, not finite, or not its amount at its
-- exchange rate.
select
    sku,
    region,
    observed_on,
    usd
from observation
where
    not isfinite(usd)
    or usd <= 0
    or not isfinite(amount)
    or abs(usd - amount * usd_per_currency) > 1e-9 * usd
    or effective_from is null
order by sku, region, observed_on, usd
limit 5
