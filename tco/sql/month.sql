-- One row is one month of the horizon by the number at its end.
select month_end
from period
order by month_end
