-- One row is what the charges of the cluster that look alike add up to in one charge period.
select
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
    period_start,
    period_end,
    billing_start,
    sum(amount) as amount,
    sum(quantity) as quantity,
    count(quantity) as quantities,
    count(*) as charges
from own_charge
group by all
