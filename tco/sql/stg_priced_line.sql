-- One row is one bill line of one candidate with its price, and the prices at the ends of its band.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                item varchar,
                category varchar,
                charge varchar,
                scales_with varchar,
                committed boolean,
                by_term boolean,
                term_months double,
                quantity double,
                unit_usd double,
                unit_usd_low double,
                unit_usd_high double,
                basis varchar,
                source varchar,
                price_date varchar,
                confidence varchar
            )[]
        ),
        recursive := true
    )
