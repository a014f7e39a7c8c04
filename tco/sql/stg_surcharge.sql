-- One row is one cost that a candidate pays as a share of other categories, such as a support plan.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                category varchar,
                item varchar,
                fraction double,
                of_categories varchar[],
                source varchar
            )[]
        ),
        recursive := true
    )
