-- One row is what one rented bill line costs in one month. `held` costs run on while the cluster waits for work;
-- nodes that are not committed are paid by the hour worked. `inputs` are what the amount is proportional to.
with
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
)

select
    rented_line.scenario,
    rented_line.key,
    period.month_end,
    rented_line.category,
    rented_line.item,
    'opex' as capex_or_opex,
    rented_line.held,
    rented_line.basis,
    rented_line.source,
    rented_line.price_date,
    rented_line.confidence,
    if(rented_line.by_the_hour_worked, 'variable', 'fixed') as fixed_or_variable,
    if(rented_line.by_the_hour_worked, ['cloud_price', 'run_time', 'utilisation'], []) as inputs,
    rented_line.usd_per_month
    * period.months
    * if(rented_line.by_the_hour_worked, rented_line.busy_fraction * stage.work, 1.0) as usd
from rented_line
cross join period
inner join stage on rented_line.key = stage.key and period.month_end = stage.month_end
