-- One row is one bill line in one scenario: base, or every assumption at its cheap `low` or dear `high` end.
with
scenario as (
    select distinct scenario as scenario_name
    from parameter
)

select
    priced_line.key,
    priced_line.item,
    priced_line.category,
    priced_line.charge,
    priced_line.scales_with,
    priced_line.committed,
    priced_line.by_term,
    priced_line.term_months,
    priced_line.quantity,
    priced_line.basis,
    priced_line.source,
    priced_line.price_date,
    priced_line.confidence,
    scenario.scenario_name as scenario,
    case scenario.scenario_name
        when 'low' then priced_line.unit_usd_low
        when 'high' then priced_line.unit_usd_high
        else priced_line.unit_usd
    end as scenario_unit_usd
from priced_line
cross join scenario
