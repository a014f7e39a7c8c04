-- One row is one price point as a source stated it, chosen or rejected.
select
    sku,
    region,
    term,
    charge,
    unit,
    usd,
    effective_from,
    last_seen,
    source,
    locator,
    confidence,
    status,
    note
from read_csv(
    $files,
    header = true,
    auto_detect = false,
    delim = ',',
    quote = '"',
    escape = '"',
    force_not_null = ['region', 'source', 'locator', 'note'],
    columns = {
        'sku': 'varchar',
        'region': 'varchar',
        'term': 'varchar',
        'charge': 'varchar',
        'unit': 'varchar',
        'usd': 'double',
        'effective_from': 'date',
        'last_seen': 'date',
        'source': 'varchar',
        'locator': 'varchar',
        'confidence': 'varchar',
        'status': 'varchar',
        'note': 'varchar'
    }
)
