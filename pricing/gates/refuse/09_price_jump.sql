-- One row is one price more than 3 times above or below the last one stored for the same product, place and term that
-- was seen no later than it, seen on one day only. The same new price on a second day (within 5 %) is believed. Where
-- nothing is stored yet, what is bought once is compared with the shipped price, of whatever place.
with
today as (
    select max(incoming.observed_on) as observed_on
    from incoming
),

stored as (
    select
        observation.sku,
        observation.region,
        observation.zone,
        observation.term,
        observation.payment,
        observation.tier_start,
        arg_max(observation.usd, (observation.observed_on, observation.effective_from)) as usd
    from observation
    cross join today
    where observation.observed_on <= today.observed_on
    group by
        observation.sku, observation.region, observation.zone, observation.term, observation.payment,
        observation.tier_start
),

shipped as (
    select
        incoming.sku,
        incoming.region,
        incoming.zone,
        incoming.term,
        incoming.payment,
        incoming.tier_start,
        arg_max(shipped_price.usd, shipped_price.effective_from) as usd
    from incoming
    inner join shipped_price
        on
            incoming.sku = shipped_price.sku
            and incoming.term = shipped_price.term
            and incoming.unit = shipped_price.unit
    where
        incoming.charge = 'once'
        and shipped_price.charge = 'once'
        and shipped_price.status = 'chosen'
        and shipped_price.effective_from <= incoming.observed_on
    group by
        incoming.sku, incoming.region, incoming.zone, incoming.term, incoming.payment, incoming.tier_start
),

before as (
    select *
    from stored
    union all
    select shipped.* -- noqa: AM04
    from shipped
    anti join stored
        on
            shipped.sku = stored.sku
            and shipped.region = stored.region
            and shipped.zone = stored.zone
            and shipped.term = stored.term
            and shipped.payment = stored.payment
            and shipped.tier_start = stored.tier_start
),

jump as (
    select
        incoming.row_number,
        incoming.sku,
        incoming.region,
        incoming.zone,
        incoming.term,
        incoming.payment,
        incoming.observed_on,
        incoming.usd,
        before.usd as usd_before
    from incoming
    inner join before
        on
            incoming.sku = before.sku
            and incoming.region = before.region
            and incoming.zone = before.zone
            and incoming.term = before.term
            and incoming.payment = before.payment
            and incoming.tier_start = before.tier_start
    where incoming.usd > 3 * before.usd or incoming.usd < before.usd / 3
)

select
    jump.row_number,
    round(jump.usd_before, 4) || ' to ' || round(jump.usd, 4) || ' USD, seen on one day only' as reason
from jump
where not exists (
    select 1
    from quarantine
    where
        quarantine.gate = '09_price_jump'
        and quarantine.sku = jump.sku
        and quarantine.region = jump.region
        and quarantine.zone = jump.zone
        and quarantine.term = jump.term
        and quarantine.payment = jump.payment
        and quarantine.observed_on < jump.observed_on
        and quarantine.observed_on >= jump.observed_on - 31
        and quarantine.usd between jump.usd * 0.95 and jump.usd * 1.05
)
