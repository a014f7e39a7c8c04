-- One row is one economic value in one scenario, with where it comes from;
-- of one candidate, or of all if none is named.
select
    unnest(
        cast(
            $rows as struct(
                scenario varchar,
                candidate_key varchar,
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
