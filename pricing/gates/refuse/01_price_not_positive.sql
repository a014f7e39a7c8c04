-- One row is one price of zero or less, or without a value: types sold by reservation only come with a price of 0. What
-- has no price because a component of it is missing is refused for that.
select
    row_number,
    'the price is ' || coalesce(cast(amount as varchar), 'empty') as reason
from incoming
where (amount is null or not isfinite(amount) or amount <= 0) and coalesce(missing, '') = ''
