-- One row is one value of the tag that names a cluster, with its charges: what an export does hold.
select
    tag_value,
    count(*) as charges
from charge
where tag_value <> ''
group by tag_value
order by charges desc, tag_value asc
limit 8
