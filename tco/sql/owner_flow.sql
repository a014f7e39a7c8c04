-- One row is one term of one cost of owning in one month: driver x multiplier x the product of the term's parameters.
-- What is counted, by what and when is data: `tco/owner_costs.csv`. A term of which a parameter has no value is not
-- counted; its last parameter is its source. `inputs` are what the amount is proportional to, `key@candidate` where a
-- candidate has a value of its own; of what is bought to grow, `usd_each` is for one unit of the capacity `scaled_by`.
with
owner_parameter as (
    select
        parameter.scenario,
        work.key as owner_key,
        parameter.key,
        parameter.value,
        parameter.basis,
        parameter.source,
        parameter.price_date,
        parameter.confidence,
        if(parameter.candidate_key = '', parameter.key, parameter.key || '@' || work.key) as input_key
    from work
    inner join parameter on parameter.candidate_key in ('', work.key)
    where work.owned and work.priced
    qualify row_number() over (
        partition by parameter.scenario, work.key, parameter.key order by parameter.candidate_key desc
    ) = 1
),

term_parameter as (
    select
        number,
        len(parameters) as parameter_count,
        unnest(parameters) as key,
        generate_subscripts(parameters, 1) as place
    from owner_cost
),

rate as (
    select
        owner_parameter.scenario,
        owner_parameter.owner_key,
        term_parameter.number,
        list_aggregate(list(owner_parameter.value order by term_parameter.place), 'product') as amount,
        list(owner_parameter.input_key order by term_parameter.place) as inputs,
        arg_max(owner_parameter.basis, term_parameter.place) as basis,
        arg_max(owner_parameter.source, term_parameter.place) as source,
        arg_max(owner_parameter.price_date, term_parameter.place) as price_date,
        arg_max(owner_parameter.confidence, term_parameter.place) as confidence
    from term_parameter
    inner join owner_parameter on term_parameter.key = owner_parameter.key
    group by owner_parameter.scenario, owner_parameter.owner_key, term_parameter.number, term_parameter.parameter_count
    having count(*) = term_parameter.parameter_count
),

equipment as (
    select
        scenario,
        key,
        sum(quantity * scenario_unit_usd) as usd
    from scenario_line
    where charge = 'once' and category <> 'one_time'
    group by scenario, key
),

warranty as (
    select
        scenario,
        owner_key,
        value as months
    from owner_parameter
    where key = 'warranty_months'
),

driver as (
    select
        rate.scenario,
        rate.owner_key as key,
        rate.number,
        work.busy_fraction * run_time.factor as busy_fraction,
        case owner_cost.driver
            when 'equipment_usd' then coalesce(equipment.usd, 0.0)
            when 'gpus' then work.gpus
            when 'servers' then work.nodes
            when 'it_power_kw' then work.it_power_w / 1000.0
            when 'cluster' then 1.0
        end as amount
    from rate
    inner join owner_cost on rate.number = owner_cost.number
    inner join work on rate.owner_key = work.key
    inner join run_time on rate.owner_key = run_time.key and rate.scenario = run_time.scenario
    left join equipment on rate.owner_key = equipment.key and rate.scenario = equipment.scenario
),

-- By each driver: once, what is bought and added, or sold, removed and removed with its price, in the month of the
-- event; each month, what stands, the hours worked, and the part of it after the warranty.
due as (
    select
        key,
        lot_month,
        size,
        month_end,
        unnest(['start', 'sale', 'end', 'close']) as paid,
        unnest([bought, sold, removed_bought, if(month_end = $horizon_months, removed_bought, 0.0)]) as of_usd,
        unnest([added, removed, removed, if(month_end = $horizon_months, removed, 0.0)]) as of_capacity,
        if(month_end = $horizon_months and lot_month = 0, 1.0, 0.0) as of_cluster,
        0.0 as of_work,
        0.0 as months,
        1.0 as per_month
    from lot_event
    union all
    select
        lot_stage.key,
        lot_stage.lot_month,
        lot_stage.size,
        lot_stage.month_end,
        paid.paid,
        lot_stage.equipment as of_usd,
        lot_stage.capacity as of_capacity,
        if(lot_stage.lot_month = 0, 1.0, 0.0) as of_cluster,
        lot_stage.work as of_work,
        period.months,
        paid.per_month
    from lot_stage
    inner join period on lot_stage.month_end = period.month_end
    cross join (
        values ('hour', $hours_per_month), ('month', 1.0), ('year', 1.0 / 12.0), ('year_after_warranty', 1.0 / 12.0)
    ) as paid (paid, per_month)
)

select
    driver.scenario,
    driver.key,
    due.month_end,
    owner_cost.category,
    owner_cost.item,
    owner_cost.capex_or_opex,
    owner_cost.fixed_or_variable,
    true as held,
    rate.basis,
    rate.source,
    rate.price_date,
    rate.confidence,
    list_sort(
        rate.inputs
        || if(owner_cost.driver = 'equipment_usd', ['purchase_price'], [])
        || if(owner_cost.fixed_or_variable = 'variable', ['run_time', 'utilisation'], [])
    ) as inputs,
    if(due.lot_month > 0, 'lot/' || due.key || '/' || cast(due.lot_month as integer), null) as scaled_by,
    driver.amount
    * rate.amount
    * owner_cost.multiplier
    * due.per_month
    * case
        when owner_cost.paid in ('start', 'sale', 'end', 'close') then 1.0
        when owner_cost.paid = 'year_after_warranty'
            then least(due.months, greatest(0.0, due.month_end - coalesce(warranty.months, 0.0)))
        else due.months
    end
    * case
        when owner_cost.fixed_or_variable = 'variable' then driver.busy_fraction * due.of_work
        when owner_cost.driver = 'equipment_usd' then due.of_usd
        when owner_cost.driver = 'cluster' then due.of_cluster
        else due.of_capacity
    end as usd_each,
    usd_each * due.size as usd
from driver
inner join rate
    on driver.scenario = rate.scenario and driver.key = rate.owner_key and driver.number = rate.number
inner join owner_cost on driver.number = owner_cost.number
inner join due on driver.key = due.key and owner_cost.paid = due.paid
left join warranty on driver.scenario = warranty.scenario and driver.key = warranty.owner_key
where
    (due.lot_month = 0 or (owner_cost.driver <> 'cluster' and owner_cost.fixed_or_variable = 'fixed'))
    and (due.months > 0 or (owner_cost.driver = 'equipment_usd' and due.of_usd > 0) or due.of_capacity > 0)
