-- One row is one price that had ended before it was seen, for example an offer that ran out: it is kept, and no report
-- uses it.
select
    row_number,
    'ended on ' || cast(effective_to as date) || ', before it was seen on ' || observed_on as reason
from incoming
where cast(effective_to as date) < observed_on
