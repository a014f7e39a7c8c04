-- One row is one hourly rate of a savings plan for a GPU instance. A rate names only the product it discounts, by the
-- key of the price on demand; the store knows the keys of Linux on shared hardware, so that the rates of other licences
-- and tenancies, which look the same, fall away. Read the region's offer file first. Plans for one family of instances
-- stand in the same file as those for any compute: their payment begins with instance_plan_. $extract holds all rates
-- of the file.
with
product as (
    select
        provider_sku,
        sku,
        region,
        instance_type,
        gpu,
        gpu_count
    from observation
    where provider = 'aws' and term = 'on_demand'
    group by all
)

select -- noqa: ST06
    product.sku,
    'aws' as provider,
    product.region,
    '' as zone,
    rate.plan_sku as provider_sku,
    product.instance_type,
    product.gpu,
    product.gpu_count,
    'reserved_' || rate.years || 'y' as term,
    case
        when rate.family = 'EC2InstanceSavingsPlans' or rate.plan_name like '%EC2 Instance%' then 'instance_plan_'
        else ''
    end || replace(lower(rate.purchase_option), ' ', '_') as payment,
    'hourly' as charge,
    'node' as unit,
    0.0 as tier_start,
    rate.currency,
    try_cast(rate.amount as double) as amount,
    try_cast(rate.effective_date as timestamp) as effective_from,
    cast(null as timestamp) as effective_to,
    rate.plan_sku || ', ' || rate.plan_name as locator,
    'high' as confidence,
    '' as note,
    '' as missing
from read_csv($extract, header = true, all_varchar = true, delim = ',', quote = '"', escape = '"') as rate
inner join product on rate.discounted_sku = product.provider_sku
where rate.years in ('1', '3')
