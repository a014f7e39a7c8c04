-- One row is one option: whether any of it is owned.
select
    key,
    owned
from option_work
order by key
