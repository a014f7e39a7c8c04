-- One row is one month of the horizon by the number at its end; a last part of a month counts by its length.
select
    least(counted.number, $horizon_months) as month_end,
    least(counted.number, $horizon_months) - (counted.number - 1) as months
from (select unnest(range(1, cast(ceil($horizon_months) as bigint) + 1)) as number) as counted
