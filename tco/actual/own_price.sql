-- One row is one contracted price per hour that the usage of an export was charged at, with the first time it was and
-- how many charges have it. List prices are not read; charges that a commitment pays, spot, and corrections are left
-- out, since their unit price is not what the hours cost.
select -- noqa: ST06
    provider,
    region,
    concat_ws(' | ', nullif(meter, ''), nullif(usage_type, ''), nullif(description, '')) as words,
    upper(coalesce(nullif(pricing_currency, ''), billing_currency)) as currency,
    try_cast(contracted_unit_price as double) as amount,
    cast(min(try_cast(period_start as timestamptz)) as timestamp) as effective_from,
    count(*) as charges
from named
where
    charge_category = 'Usage'
    and coalesce(charge_class, '') = ''
    and pricing_category = 'Standard'
    and coalesce(contracted_unit_price, '') <> ''
    and list_contains(['hours', 'hour', 'hrs', 'hr', 'h', '1 hour', 'instance-hours', 'node-hours'], lower(unit))
group by all
order by provider, region, words, effective_from
