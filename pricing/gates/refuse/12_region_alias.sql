-- One row is one price of AWS, Azure or Google Cloud whose region is none: the name of a place for people, a zone, or a
-- Local Zone. Read as a region it would stand in for the region it is named after, or for all of them; only a list of
-- quotes may leave it out.
select
    row_number,
    'the region is said to be ' || coalesce(nullif(region, ''), 'nothing') as reason
from incoming
where
    provider in ('aws', 'azure', 'gcp')
    and sku like provider || '/%'
    and charge <> 'once'
    and (
        (coalesce(region, '') = '' and $feed not like 'quotes%')
        or region <> lower(region)
        or regexp_matches(region, '[^a-z0-9-]')
        or (provider = 'aws' and regexp_matches(region, '^[a-z]{2}(-[a-z]+)+-[0-9]+([a-z]|-.+)$'))
        or (provider = 'gcp' and regexp_matches(region, '^[a-z]+-[a-z]+[0-9]+-[a-z]$'))
        or (provider = 'azure' and region like '%-%')
    )
