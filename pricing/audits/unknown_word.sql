-- One row is one price point whose term, charge, unit, status or confidence is not one of the known words, or that was
-- rejected without a reason.
select
    sku,
    region,
    term,
    effective_from,
    'term, charge, unit, status, confidence or reason: '
    || concat_ws(', ', term, charge, unit, status, confidence, note) as finding
from price_point
where
    term not in (
        'on_demand', 'spot', 'reserved_1y', 'reserved_3y', 'capacity_block', 'calendar', 'flex_start',
        'subscription_1y', 'contracted', 'purchase'
    )
    or charge not in ('hourly', 'monthly', 'once', 'metered')
    or unit not in ('node', 'each', 'GB', 'GiB', 'GPU', 'IP', 'kW', 'kWh', 'Mtoken', 'PFLOP/s', 'run')
    or status not in ('chosen', 'rejected')
    or confidence not in ('high', 'medium', 'low')
    or (status = 'rejected' and note = '')
