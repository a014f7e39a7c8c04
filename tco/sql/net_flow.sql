-- One row is one month in which two candidates together pay anything (base scenario): what the second one pays less
-- what the first one pays, resale included. Positive is what the first one saves.
select
    month_end,
    sum(case key when $other_key then usd else -usd end) as usd
from cash_flow
where scenario = 'base' and key in ($key, $other_key)
group by month_end
order by month_end
