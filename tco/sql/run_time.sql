-- One row is one candidate in one scenario: the time of a run over its calendar days. `low` takes the short end of the
-- band of days together with every assumption at its cheap end, `high` the long end with every one at its dear end.
with
scenario as (
    select distinct scenario as scenario_name
    from parameter
)

select
    candidate.key,
    scenario.scenario_name as scenario,
    case scenario.scenario_name
        when 'low' then candidate.run_time_low
        when 'high' then candidate.run_time_high
        else 1.0
    end as factor
from candidate
cross join scenario
