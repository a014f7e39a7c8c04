-- One row is one input of any term: a column of a draw that moves something.
select distinct input_key
from term_input
order by input_key
