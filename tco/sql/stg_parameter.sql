-- One row is one economic value in one scenario, with where it comes from.
select
    unnest(
        cast(
            $rows as struct(
                scenario varchar,
                key varchar,
                value double,
                basis varchar,
                source varchar,
                price_date varchar,
                confidence varchar
            )[]
        ),
        recursive := true
    )
