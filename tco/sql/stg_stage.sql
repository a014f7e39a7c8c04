-- One row is one month of one candidate: its work over that of the first year, and the capacity and equipment that
-- stand, over those of the first purchase.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                month_end double,
                work double,
                capacity double,
                equipment double
            )[]
        ),
        recursive := true
    )
