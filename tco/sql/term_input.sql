-- One row is one input of one kind of term: terms that are proportional to the same inputs are drawn together.
-- `kind` names the inputs; it is empty for terms that no input moves, which have no row here.
select distinct
    array_to_string(inputs, ' ') as kind,
    unnest(inputs) as input_key
from cash_term
