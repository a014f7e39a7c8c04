-- One row is one charge of the cluster; rows that are the same in every column of the export are one.
select * -- noqa: AM04
from charge
where tagging = 'mine'
qualify row_number() over (partition by row_hash) = 1
