-- One row is the charges of one account with one state of the tag: their cost, and what of them cannot be read.
-- A period outside of this century is a mistyped year: calendar months end with the year 9999.
with
judged as (
    select
        *,
        coalesce(
            period_start >= timestamptz '2000-01-01 00:00:00+00'
            and period_end >= period_start
            and period_end < timestamptz '2100-01-01 00:00:00+00',
            false
        ) as is_period
    from charge
)

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
    count(*) filter (where not is_period) as periods_unread,
    min(period_text) filter (where not is_period) as period_unread
from judged
group by provider, sub_account, tagging, charge_category, currency
