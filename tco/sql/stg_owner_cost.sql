-- One row is one term of one cost of owning: driver x multiplier x the product of its parameters, each time it is paid.
select
    unnest(
        cast(
            $rows as struct(
                number integer,
                category varchar,
                item varchar,
                capex_or_opex varchar,
                fixed_or_variable varchar,
                paid varchar,
                driver varchar,
                multiplier double,
                parameters varchar[]
            )[]
        ),
        recursive := true
    )
