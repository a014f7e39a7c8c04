-- One row is one owned candidate in one scenario against one rented one (base): the month when the owner's cumulative
-- cash falls to the renter's and stays below it, by a straight line within the month; empty if not within the horizon.
-- With $every_pair any candidate against any other one.
with
gap as (
    select
        mine.scenario,
        mine.key as owned_key,
        theirs.key as rented_key,
        mine.month_end,
        mine.usd - theirs.usd as usd,
        lead(mine.month_end) over pair as next_month_end,
        lead(mine.usd - theirs.usd) over pair as next_usd
    from cumulative as mine
    inner join option_work as mine_work on mine.key = mine_work.key and (mine_work.owned or $every_pair)
    inner join cumulative as theirs
        on mine.month_end = theirs.month_end and theirs.scenario = 'base' and mine.key <> theirs.key
    inner join option_work as theirs_work on theirs.key = theirs_work.key and (not theirs_work.owned or $every_pair)
    window pair as (partition by mine.scenario, mine.key, theirs.key order by mine.month_end)
),

pair as (
    select distinct
        scenario,
        owned_key,
        rented_key
    from gap
),

last_month_above as (
    select
        scenario,
        owned_key,
        rented_key,
        arg_max_null(usd, month_end) as usd,
        arg_max_null(next_usd, month_end) as next_usd,
        max(month_end) as month_end,
        arg_max_null(next_month_end, month_end) as next_month_end
    from gap
    where usd > 0
    group by scenario, owned_key, rented_key
)

select
    pair.scenario,
    pair.owned_key,
    pair.rented_key,
    case
        when last_month_above.month_end is null then 0.0
        else
            last_month_above.month_end
            + (last_month_above.next_month_end - last_month_above.month_end)
            * last_month_above.usd
            / (last_month_above.usd - last_month_above.next_usd)
    end as months
from pair
left join last_month_above
    on
        pair.scenario = last_month_above.scenario
        and pair.owned_key = last_month_above.owned_key
        and pair.rented_key = last_month_above.rented_key
order by pair.owned_key, pair.rented_key, pair.scenario
