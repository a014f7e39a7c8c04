-- One row is what the charges of the cluster that look alike add up to: same product, unit, kind and currency.
select -- noqa: ST06
    provider,
    service,
    sku,
    bill_line,
    meter,
    description,
    charge_category,
    charge_class,
    pricing_category,
    commitment_status,
    currency,
    unit,
    sum(amount) as amount,
    sum(quantity) as quantity,
    sum(quantities) = sum(charges) as every_quantity_known,
    cast(sum(charges) as bigint) as charges
from mine
group by all
order by abs(sum(amount)) desc, provider asc, service asc, sku asc, meter asc, description asc, charge_category asc
