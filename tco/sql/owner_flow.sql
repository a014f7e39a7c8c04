-- One row is one cost of owning (installation, support, staff, space, energy, resale) in one month. One-time costs are
-- no equipment: no support, spares or resale of them.
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

equipment as (
    select
        scenario,
        key,
        sum(usd) as usd
    from purchase_flow
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
)

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
