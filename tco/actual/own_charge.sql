-- One row is one charge of the cluster, as often as the export has it.
select * -- noqa: AM04
from charge
where tagging = 'mine'
