-- One row is one price without a product, or whose term, charge, unit or confidence is none of the known words.
select
    row_number,
    'product, term, charge, unit or confidence: '
    || concat_ws(', ', coalesce(nullif(sku, ''), 'empty'), term, charge, unit, confidence) as reason
from incoming
where
    coalesce(sku, '') = ''
    or coalesce(term, '') not in (
        'on_demand', 'spot', 'reserved_1y', 'reserved_3y', 'capacity_block', 'calendar', 'flex_start',
        'subscription_1y', 'contracted', 'purchase'
    )
    or coalesce(charge, '') not in ('hourly', 'monthly', 'once', 'metered')
    or coalesce(unit, '') not in ('node', 'each', 'GB', 'GiB', 'GPU', 'IP', 'kWh')
    or coalesce(confidence, '') not in ('high', 'medium', 'low')
