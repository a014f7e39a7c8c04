-- One row is one input of one term. Terms that no input moves have no row here.
select distinct
    term,
    unnest(inputs) as input_key
from drawn_flow
