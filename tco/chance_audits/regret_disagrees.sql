-- One row is one option whose regret is not what its definition says. An option that is ranked and can do the work of
-- some draw has one, from 0; another one has none. It is also the mean of what the option costs more where each other
-- one was right, and 0 where it was right itself: in every draw, one option has nothing to regret.
-- A cent, or nine digits of the amount.
with
by_right as (
    select
        key,
        sum(fitting_draws * regret_usd) / sum(fitting_draws) as mean_usd,
        min(regret_usd) as lowest_usd,
        coalesce(max(regret_usd) filter (where key = right_key), 0.0) as own_usd
    from drawn_regret
    where fitting_draws > 0
    group by key
),

compared as (
    select
        drawn_option.key,
        drawn_option.regret_usd,
        drawn_option.regret_after_tax_usd,
        by_right.mean_usd,
        by_right.lowest_usd,
        by_right.own_usd,
        coalesce(option_work.competes, false) and drawn_option.probability_too_slow < 1.0 as has_regret
    from drawn_option
    left join option_work on drawn_option.key = option_work.key
    left join by_right on drawn_option.key = by_right.key
)

select
    key,
    coalesce(cast(regret_usd as varchar), 'no') || ' USD of regret, '
    || coalesce(cast(regret_after_tax_usd as varchar), 'no') || ' USD after tax, '
    || coalesce(cast(mean_usd as varchar), 'no') || ' USD over the choices that were right' as finding
from compared
where
    has_regret is distinct from (regret_usd is not null)
    or has_regret is distinct from (regret_after_tax_usd is not null)
    or has_regret is distinct from (mean_usd is not null)
    or least(regret_usd, regret_after_tax_usd, lowest_usd) < 0.0
    or own_usd <> 0.0
    or abs(regret_usd - mean_usd) > greatest(0.005, 1e-9 * mean_usd)
