-- One row is one option in one scenario with what one run costs on it.
select unnest(cast($rows as struct(scenario varchar, key varchar, run_usd double)[]), recursive := true)
