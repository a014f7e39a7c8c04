-- One row is one kind of value that cannot be read, with how often it comes and one of them.
with
fault as (
    select
        'a cost that is no number' as fault,
        amounts_unread as charges,
        amount_unread as example
    from tally
    union all
    select
        'a charge period that cannot be read, ends before it begins, or is not of this century' as fault,
        periods_unread as charges,
        period_unread as example
    from tally
    union all
    select
        'a charge category that FOCUS does not have' as fault,
        charges,
        charge_category as example
    from tally
    where charge_category not in ('Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment')
)

select
    fault,
    cast(sum(charges) as bigint) as charges,
    coalesce(min(example), '') as example
from fault
where charges > 0
group by fault
order by fault
