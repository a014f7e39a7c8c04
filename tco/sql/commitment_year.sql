-- One row is one year of one candidate with a committed spend: what is committed, and what the use of that year costs.
-- A last part of a year counts by its length.
select
    spend_term.scenario,
    contract.key,
    spend_term.year_end as month_end,
    any_value(contract.source) as source,
    any_value(contract.committed_usd_per_year)
    * (spend_term.year_end - 12.0 * (ceil(spend_term.year_end / 12.0) - 1.0))
    / 12.0 as committed_usd,
    sum(spend_term.usd) as spent_usd
from spend_term
inner join contract on spend_term.key = contract.key
group by spend_term.scenario, contract.key, spend_term.year_end
