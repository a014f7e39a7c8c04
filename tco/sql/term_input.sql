-- One row is one term of any option, with the columns of a draw that it is proportional to.
select distinct
    term,
    inputs
from drawn_flow
order by term
