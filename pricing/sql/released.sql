-- Adds one row for each price in quarantine that a person lets out, with the reason in its note; by an exchange rate
-- that was stored after the price came in, if it came without one.
insert into observation
select
    quarantine.ingest_id,
    quarantine.feed,
    quarantine.sku,
    quarantine.provider,
    quarantine.region,
    quarantine.zone,
    quarantine.provider_sku,
    quarantine.instance_type,
    quarantine.gpu,
    quarantine.gpu_count,
    quarantine.term,
    quarantine.payment,
    quarantine.charge,
    quarantine.unit,
    quarantine.tier_start,
    quarantine.currency,
    quarantine.amount,
    coalesce(quarantine.usd_per_currency, rate.usd_per_currency) as usd_per_currency,
    coalesce(quarantine.usd, quarantine.amount * rate.usd_per_currency) as usd,
    quarantine.effective_from,
    quarantine.effective_to,
    quarantine.observed_on,
    quarantine.source,
    quarantine.locator,
    quarantine.confidence,
    concat_ws(
        '; ',
        nullif(quarantine.note, ''),
        'released from ' || quarantine.gate || ': ' || cast($reason as varchar) -- noqa: RF02
    ) as note
from quarantine
asof left join exchange_rate as rate
    on quarantine.currency = rate.currency and quarantine.observed_on >= rate.day
where quarantine.quarantine_id in (select unnest($quarantine_ids))
