-- One row is one row of `drawn_regret`, in the order of the keys.
select
    key,
    right_key,
    probability,
    regret_usd
from drawn_regret
order by key, right_key
