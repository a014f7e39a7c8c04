-- One row is one dated, tagged amount of one candidate in one scenario (base, or every assumption at its cheap `low` or
-- dear `high` end). USD paid are positive. Month 0 is the purchase; month n is paid at the end of month n; a last part
-- of a month counts by its length. `held` costs run on while the cluster waits for work. One-time costs are no
-- equipment: no support, spares or resale of them. Surcharges are shares of other running costs of the same month.
with
scenario as (
    select distinct scenario as scenario_name
    from parameter
),

owner_parameter as (
    select
        parameter.scenario,
        work.key as owner_key,
        parameter.key,
        parameter.value,
        parameter.basis,
        parameter.source,
        parameter.price_date,
        parameter.confidence
    from work
    inner join parameter on parameter.candidate_key in ('', work.key)
    where work.owned and work.priced
    qualify row_number() over (
        partition by parameter.scenario, work.key, parameter.key order by parameter.candidate_key desc
    ) = 1
),

rate as (
    select
        scenario,
        owner_key,
        max(value) filter (where key = 'power_price_usd_per_kwh') as power_price_usd_per_kwh,
        max(value) filter (where key = 'pue') as pue,
        max(value) filter (where key = 'load_power_fraction') as load_power_fraction,
        max(value) filter (where key = 'idle_power_fraction') as idle_power_fraction,
        max(value) filter (where key = 'colocation_usd_per_kw_month') as colocation_usd_per_kw_month,
        max(value) filter (where key = 'installation_fraction') as installation_fraction,
        max(value) filter (where key = 'spares_fraction') as spares_fraction,
        max(value) filter (where key = 'support_fraction_per_year') as support_fraction_per_year,
        max(value) filter (where key = 'staff_fte_per_gpu') as staff_fte_per_gpu,
        max(value) filter (where key = 'staff_usd_per_fte_year') as staff_usd_per_fte_year,
        max(value) filter (where key = 'capital_charge_fraction_per_year') as capital_charge_fraction_per_year,
        max(value) filter (where key = 'resale_fraction') as resale_fraction
    from owner_parameter
    group by scenario, owner_key
),

period as (
    select
        least(counted.number, $horizon_months) as month_end,
        least(counted.number, $horizon_months) - (counted.number - 1) as months
    from (select unnest(range(1, cast(ceil($horizon_months) as bigint) + 1)) as number) as counted
),

scenario_line as (
    select
        priced_line.*,
        scenario.scenario_name as scenario,
        case scenario.scenario_name
            when 'low' then priced_line.unit_usd_low
            when 'high' then priced_line.unit_usd_high
            else priced_line.unit_usd
        end as scenario_unit_usd
    from priced_line
    cross join scenario
),

purchase as (
    select
        scenario_line.scenario,
        scenario_line.key,
        0.0 as month_end,
        scenario_line.category,
        scenario_line.item,
        'capex' as capex_or_opex,
        'fixed' as fixed_or_variable,
        true as held,
        scenario_line.quantity * scenario_line.scenario_unit_usd as usd,
        scenario_line.basis,
        scenario_line.source,
        scenario_line.price_date,
        scenario_line.confidence
    from scenario_line
    where scenario_line.charge = 'once'
),

rented_line as (
    select
        scenario_line.*,
        work.busy_fraction,
        work.owned or scenario_line.committed as held,
        scenario_line.scales_with = 'nodes' and not scenario_line.committed as by_the_hour_worked,
        scenario_line.quantity
        * scenario_line.scenario_unit_usd
        * if(scenario_line.charge = 'hourly', $hours_per_month, 1.0) as usd_per_month
    from scenario_line
    inner join work on scenario_line.key = work.key
    where scenario_line.charge in ('hourly', 'monthly')
),

rent as (
    select
        rented_line.scenario,
        rented_line.key,
        period.month_end,
        rented_line.category,
        rented_line.item,
        'opex' as capex_or_opex,
        if(rented_line.by_the_hour_worked, 'variable', 'fixed') as fixed_or_variable,
        rented_line.held,
        rented_line.usd_per_month
        * period.months
        * if(rented_line.by_the_hour_worked, rented_line.busy_fraction, 1.0) as usd,
        rented_line.basis,
        rented_line.source,
        rented_line.price_date,
        rented_line.confidence
    from rented_line
    cross join period
),

equipment as (
    select
        scenario,
        key,
        sum(usd) as usd
    from purchase
    where category <> 'one_time'
    group by scenario, key
),

owner as (
    select
        rate.*,
        work.key,
        work.gpus,
        work.busy_fraction,
        work.it_power_w / 1000.0 as it_power_kw,
        coalesce(equipment.usd, 0.0) as equipment_usd
    from work
    inner join rate on work.key = rate.owner_key
    left join equipment
        on work.key = equipment.key and rate.scenario = equipment.scenario
),

owner_once as (
    select
        scenario,
        key,
        0.0 as month_end,
        'installation' as category,
        'Installation and burn-in' as item,
        'installation_fraction' as parameter_key,
        equipment_usd * installation_fraction as usd
    from owner
    union all
    select
        scenario,
        key,
        0.0 as month_end,
        'spares' as category,
        'Spare parts' as item,
        'spares_fraction' as parameter_key,
        equipment_usd * spares_fraction as usd
    from owner
    union all
    select
        scenario,
        key,
        $horizon_months as month_end,
        'resale' as category,
        'Resale at the end of the horizon' as item,
        'resale_fraction' as parameter_key,
        -equipment_usd * resale_fraction as usd
    from owner
),

owner_rate as (
    select
        scenario,
        key,
        'support' as category,
        'Hardware support' as item,
        'fixed' as fixed_or_variable,
        'support_fraction_per_year' as parameter_key,
        equipment_usd * support_fraction_per_year / 12.0 as usd_per_month
    from owner
    union all
    select
        scenario,
        key,
        'staff' as category,
        'Hardware operations staff' as item,
        'fixed' as fixed_or_variable,
        'staff_usd_per_fte_year' as parameter_key,
        gpus * staff_fte_per_gpu * staff_usd_per_fte_year / 12.0 as usd_per_month
    from owner
    union all
    select
        scenario,
        key,
        'facility' as category,
        'Space and cooling per kW of IT load' as item,
        'fixed' as fixed_or_variable,
        'colocation_usd_per_kw_month' as parameter_key,
        it_power_kw * colocation_usd_per_kw_month as usd_per_month
    from owner
    union all
    select
        scenario,
        key,
        'energy' as category,
        'Energy drawn at all times' as item,
        'fixed' as fixed_or_variable,
        'power_price_usd_per_kwh' as parameter_key,
        it_power_kw * idle_power_fraction * pue * power_price_usd_per_kwh * $hours_per_month as usd_per_month
    from owner
    union all
    select
        scenario,
        key,
        'energy' as category,
        'Energy drawn more while it works' as item,
        'variable' as fixed_or_variable,
        'power_price_usd_per_kwh' as parameter_key,
        it_power_kw
        * (load_power_fraction - idle_power_fraction)
        * busy_fraction
        * pue
        * power_price_usd_per_kwh
        * $hours_per_month as usd_per_month
    from owner
    union all
    select
        scenario,
        key,
        'capital' as category,
        'Charge on the capital tied up, half of the purchase on average' as item,
        'fixed' as fixed_or_variable,
        'capital_charge_fraction_per_year' as parameter_key,
        equipment_usd / 2.0 * capital_charge_fraction_per_year / 12.0 as usd_per_month
    from owner
    where capital_charge_fraction_per_year is not null
),

owner_row as (
    select
        scenario,
        key,
        month_end,
        category,
        item,
        'capex' as capex_or_opex,
        'fixed' as fixed_or_variable,
        parameter_key,
        usd
    from owner_once
    union all
    select
        owner_rate.scenario,
        owner_rate.key,
        period.month_end,
        owner_rate.category,
        owner_rate.item,
        'opex' as capex_or_opex,
        owner_rate.fixed_or_variable,
        owner_rate.parameter_key,
        owner_rate.usd_per_month * period.months as usd
    from owner_rate
    cross join period
),

owner_cost as (
    select
        owner_row.scenario,
        owner_row.key,
        owner_row.month_end,
        owner_row.category,
        owner_row.item,
        owner_row.capex_or_opex,
        owner_row.fixed_or_variable,
        true as held,
        owner_row.usd,
        owner_parameter.basis,
        owner_parameter.source,
        owner_parameter.price_date,
        owner_parameter.confidence
    from owner_row
    inner join owner_parameter
        on
            owner_row.scenario = owner_parameter.scenario
            and owner_row.key = owner_parameter.owner_key
            and owner_row.parameter_key = owner_parameter.key
),

charged as (
    select * from rent
    union all
    select * from owner_cost
    where capex_or_opex = 'opex'
),

surcharged as (
    select
        charged.scenario,
        charged.key,
        charged.month_end,
        surcharge.category,
        surcharge.item,
        'opex' as capex_or_opex,
        charged.fixed_or_variable,
        charged.held,
        sum(charged.usd) * surcharge.fraction as usd,
        'given' as basis,
        surcharge.source,
        '' as price_date,
        'high' as confidence
    from charged
    inner join surcharge
        on charged.key = surcharge.key and list_contains(surcharge.of_categories, charged.category)
    group by
        charged.scenario,
        charged.key,
        charged.month_end,
        surcharge.category,
        surcharge.item,
        surcharge.source,
        surcharge.fraction,
        charged.fixed_or_variable,
        charged.held
)

select * from purchase
union all
select * from rent
union all
select * from owner_cost
union all
select * from surcharged
