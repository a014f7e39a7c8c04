-- One row is the nodes that one candidate commits to from one month on, over those at the start of the horizon.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                start_month double,
                nodes double
            )[]
        ),
        recursive := true
    )
