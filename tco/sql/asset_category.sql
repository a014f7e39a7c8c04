-- One row is one category of what is bought.
select distinct category
from asset_lot
order by category
