-- One row is one candidate: the months that its equipment stands, and what is made for it, over the first purchase.
with
made as (
    select
        key,
        sum(removed) as made
    from event
    group by key
)

select
    stage.key,
    sum(period.months * stage.capacity) as held_months,
    any_value(made.made) as made
from stage
inner join period on stage.month_end = period.month_end
inner join made on stage.key = made.key
group by stage.key
order by stage.key
