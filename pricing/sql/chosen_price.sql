-- One row is one chosen price from one day on: the rule that every question to the price book starts from. Of several
-- prices of one product, region, term and day a fetched one wins over a shipped one, then the better documented, then
-- the lower one. Asked for few products, regions, terms or days, only their prices are read.
select * -- noqa: AM04
from price_point
where status = 'chosen'
qualify row_number() over (
    partition by sku, region, term, effective_from
    order by precedence desc, list_position(['high', 'medium', 'low'], confidence) asc, usd asc
) = 1
