-- One row is one owned candidate against one rented one (base scenario): the utilisation u at which
-- fixed_own + u * variable_own = fixed_rent + u * variable_rent over the horizon, resale included. Above it owning
-- costs less. Empty if renting costs less always, or above some utilisation; 0 if owning always does, at none and at
-- full use. Values above 1 are out of reach.
-- With $every_pair any candidate against any other one.
with
slope as (
    select
        cash_flow.key,
        option_work.owned,
        coalesce(sum(cash_flow.usd) filter (where cash_flow.fixed_or_variable = 'fixed'), 0.0) as fixed_usd,
        coalesce(sum(cash_flow.usd) filter (where cash_flow.fixed_or_variable = 'variable'), 0.0)
        / $utilisation as usd_per_utilisation
    from cash_flow
    inner join option_work on cash_flow.key = option_work.key
    where cash_flow.scenario = 'base'
    group by cash_flow.key, option_work.owned
),

pair as (
    select
        mine.key as owned_key,
        theirs.key as rented_key,
        mine.fixed_usd - theirs.fixed_usd as more_fixed_usd,
        theirs.usd_per_utilisation - mine.usd_per_utilisation as less_usd_per_utilisation
    from slope as mine
    inner join slope as theirs on mine.key <> theirs.key and ($every_pair or (mine.owned and not theirs.owned))
)

select
    owned_key,
    rented_key,
    case
        when more_fixed_usd <= 0 and more_fixed_usd <= less_usd_per_utilisation then 0.0
        when less_usd_per_utilisation > 0 then more_fixed_usd / less_usd_per_utilisation
    end as utilisation
from pair
order by owned_key, rented_key
