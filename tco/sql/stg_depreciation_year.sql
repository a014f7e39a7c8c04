-- One row is one year after the purchase of one category with the share of it that is written off in that year.
select
    unnest(
        cast(
            $rows as struct(
                category varchar,
                year double,
                fraction double
            )[]
        ),
        recursive := true
    )
