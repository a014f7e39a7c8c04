-- One row is one month of one unit of a lot of one candidate: its work over that of the first year (with the first
-- purchase alone), and the capacity and equipment that stand, over those of the first purchase. The candidate has
-- `size` units of what it bought in `lot_month`.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                lot_month double,
                size double,
                month_end double,
                work double,
                capacity double,
                equipment double
            )[]
        ),
        recursive := true
    )
