-- One row is one price point without a known source or without its days, or seen last before it was in force.
select
    price_point.sku,
    price_point.region,
    price_point.term,
    price_point.effective_from,
    case
        when price_point.effective_from is null or price_point.last_seen is null then 'a day is missing'
        when price_point.last_seen < price_point.effective_from then 'last seen before it was in force'
        else 'source ' || price_point.source || ' is not in sources.csv'
    end as finding
from price_point
left join price_source on price_point.source = price_source.id
where
    price_source.id is null
    or price_point.effective_from is null
    or price_point.last_seen is null
    or price_point.last_seen < price_point.effective_from
