-- One row is one chosen price in force on a day: of each product, region and term the one that came into force last.
select * -- noqa: AM04
from chosen_price
where effective_from <= cast(as_of as date)
qualify row_number() over (partition by sku, region, term order by effective_from desc) = 1
