-- One row is one term in one draw of the uncertain inputs: the product of the factors of exactly its inputs.
-- Every column of `draw` is a factor on the base value of its input; an input that is not drawn has none.
with
factor as (
    unpivot draw
    on columns(* exclude (number))
    into name input_key value factor
)

select
    cast(factor.number as integer) as number,
    term_input.term,
    product(factor.factor) as factor
from factor
inner join term_input on factor.input_key = term_input.input_key
group by factor.number, term_input.term
