-- One row is what the charges of the cluster that look alike add up to in one charge period; rows that are the same in
-- every column of the export are one.
with
single_charge as (
    select * -- noqa: AM04
    from charge
    where tagging = 'mine'
    qualify row_number() over (partition by row_hash) = 1
)

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
from single_charge
group by all
