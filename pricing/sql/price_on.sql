-- One row is one chosen price in force on a day: of each product, region and term the one that came into force last,
-- chosen as in `chosen_price`; an offer whose last day has passed is none. That it was seen later is not known on that
-- day. The day is found first, so that few prices are left to choose from. Empty `skus` means all products.
with
last_day as (
    select
        sku,
        region,
        term,
        max(effective_from) as effective_from
    from price_point
    where
        status = 'chosen'
        and effective_from <= cast(as_of as date)
        and (holds_until is null or holds_until >= cast(as_of as date))
        and (len(skus) = 0 or list_contains(skus, sku))
    group by sku, region, term
)

select price_point.* replace (least(price_point.last_seen, cast(as_of as date)) as last_seen) -- noqa: AM04, RF02
from price_point
semi join last_day
    on
        price_point.sku = last_day.sku
        and price_point.region = last_day.region
        and price_point.term = last_day.term
        and price_point.effective_from = last_day.effective_from
where
    price_point.status = 'chosen'
    and (price_point.holds_until is null or price_point.holds_until >= cast(as_of as date)) -- noqa: RF02
    and (len(skus) = 0 or list_contains(skus, price_point.sku)) -- noqa: RF02
qualify row_number() over (
    partition by price_point.sku, price_point.region, price_point.term
    order by price_point.precedence desc, price_point.stated_from desc, price_point.usd asc
) = 1
