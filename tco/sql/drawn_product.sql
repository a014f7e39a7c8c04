-- One row is one term of the draws with the inputs that it is a product of; none for a term that no input moves.
select
    drawn_present.place,
    list_sort(list_distinct(list(term_input.input_key))) as input_keys
from drawn_present
left join term_input on drawn_present.term = term_input.term
group by drawn_present.place
order by drawn_present.place
