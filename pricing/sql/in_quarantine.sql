-- One row is one price in quarantine that nobody let out yet, newest first; in USD also by an exchange rate that was
-- stored after the price came in. `usable` tells whether anybody's reason can make a price of it.
with
rated as (
    select
        quarantine.*,
        coalesce(
            quarantine.usd,
            case when quarantine.observed_on - rate.day <= 31 then quarantine.amount * rate.usd_per_currency end
        ) as rated_usd
    from quarantine
    asof left join exchange_rate as rate
        on quarantine.currency = rate.currency and quarantine.observed_on >= rate.day
)

select
    rated.quarantine_id,
    rated.gate,
    rated.reason,
    rated.feed,
    rated.observed_on,
    document.url,
    case when isfinite(rated.amount) then rated.amount end as amount,
    case when isfinite(rated.rated_usd) then rated.rated_usd end as usd,
    coalesce(rated.sku, '') as sku,
    coalesce(rated.region, '') as region,
    coalesce(rated.zone, '') as zone,
    coalesce(rated.term, '') as term,
    coalesce(rated.currency, '') as currency,
    coalesce(rated.locator, '') as locator,
    coalesce(
        isfinite(rated.rated_usd) and rated.rated_usd > 0
        and rated.effective_from is not null
        and rated.observed_on is not null
        and rated.sku <> '',
        false
    ) as usable
from rated
inner join ingest on rated.ingest_id = ingest.ingest_id
inner join document on ingest.document_id = document.document_id
anti join release on rated.quarantine_id = release.quarantine_id
where $gate in ('', rated.gate)
order by rated.observed_on desc, rated.quarantine_id asc
