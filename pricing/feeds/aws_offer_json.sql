-- One row is one Linux price of a GPU instance in AWS's offer file (JSON), on demand. The file has one object of
-- hundreds of megabytes, of which a stream keeps the products and prices that aws_offer_csv.sql keeps; $extract holds
-- them.
with
wanted as (
    select unnest($wanted, recursive := true)
)

select -- noqa: ST06
    'aws/' || offer.instance_type as sku,
    'aws' as provider,
    offer.region,
    '' as zone,
    offer.provider_sku,
    offer.instance_type,
    wanted.gpu,
    wanted.gpu_count,
    'on_demand' as term,
    '' as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    offer.currency,
    try_cast(offer.amount as double) as amount,
    try_cast(offer.effective_date as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    offer.rate_code as locator,
    'high' as confidence,
    '' as note,
    '' as missing
from read_csv($extract, header = true, all_varchar = true, delim = ',', quote = '"', escape = '"') as offer
inner join wanted on offer.instance_type = wanted.instance_type
