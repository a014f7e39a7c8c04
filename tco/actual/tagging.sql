-- One row is how much of the cost of the accounts that hold the cluster carries its tag, another value of it, or none.
-- Taxes carry no tags, and are left out.
with
account as (
    select distinct
        provider,
        sub_account
    from tally
    where tagging = 'mine'
)

select -- noqa: ST06
    tally.tagging,
    tally.currency,
    sum(tally.amount) as amount,
    cast(sum(tally.charges) as bigint) as charges
from tally
inner join account on tally.provider = account.provider and tally.sub_account = account.sub_account
where tally.charge_category <> 'Tax'
group by tally.tagging, tally.currency
order by tally.tagging, tally.currency
