-- One row is one chosen price from one day on: the rule that every question to the price book starts from. Of several
-- prices of one product, region, term and day the one with the highest precedence counts, then the one that by its
-- provider came into force last (a list may still name what it replaced), then the lower one. Asked for few products,
-- regions, terms or days, only their prices are read.
select * -- noqa: AM04
from price_point
where status = 'chosen'
qualify
    row_number() over (
        partition by sku, region, term, effective_from
        order by precedence desc, stated_from desc, usd asc
    ) = 1
