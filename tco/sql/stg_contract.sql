-- One row is how the rented nodes of one candidate are paid.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                upfront_fraction double,
                period_months double,
                rest varchar,
                discount double,
                categories varchar[],
                all_categories boolean,
                committed_usd_per_year double,
                source varchar
            )[]
        ),
        recursive := true
    )
