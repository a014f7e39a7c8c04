-- One row is one document that prices come from.
select
    id,
    title,
    "where" as place,
    date as published_on,
    confidence
from read_csv(
    $file,
    header = true,
    auto_detect = false,
    delim = ',',
    quote = '"',
    escape = '"',
    columns = {
        'id': 'varchar',
        'title': 'varchar',
        'where': 'varchar',
        'date': 'varchar',
        'confidence': 'varchar'
    }
)
