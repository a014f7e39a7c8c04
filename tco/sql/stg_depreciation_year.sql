-- One row is one year after the purchase with the share of it that is written off in that year.
select
    unnest(
        cast(
            $rows as struct(
                year double,
                fraction double
            )[]
        ),
        recursive := true
    )
