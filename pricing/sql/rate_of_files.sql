-- One row is what one unit of a currency was worth in USD on a day. No rate is shipped.
select
    cast('' as varchar) as currency,
    cast('1970-01-01' as date) as day, -- noqa: RF04
    cast(1.0 as double) as usd_per_currency,
    cast('' as varchar) as source
where false
