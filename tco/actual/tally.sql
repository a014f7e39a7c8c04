-- One row is the charges of one account with one state of the tag: their cost, and what of them cannot be read.
select
    provider,
    sub_account,
    tagging,
    charge_category,
    currency,
    sum(amount) as amount,
    count(*) as charges,
    count(distinct row_hash) filter (where tagging = 'mine') as distinct_charges,
    count(*) filter (where amount is null or not isfinite(amount)) as amounts_unread,
    min(amount_text) filter (where amount is null or not isfinite(amount)) as amount_unread,
    count(*) filter (
        where period_start is null or period_end is null or period_end < period_start
    ) as periods_unread,
    min(period_text) filter (
        where period_start is null or period_end is null or period_end < period_start
    ) as period_unread
from charge
group by provider, sub_account, tagging, charge_category, currency
