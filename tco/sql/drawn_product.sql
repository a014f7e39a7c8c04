-- One row is one term of the draws with the columns of a draw that it is a product of.
select distinct
    drawn_present.place,
    term_input.inputs
from drawn_present
inner join term_input on drawn_present.term = term_input.term
order by drawn_present.place
