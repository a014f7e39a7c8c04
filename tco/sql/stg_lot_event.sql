-- One row is what is bought, added, taken out and sold for one unit of a lot of one candidate at the end of a month (0
-- is the start), over the first purchase. The candidate has `size` units of what it bought in `lot_month`.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                lot_month double,
                size double,
                month_end double,
                bought double,
                added double,
                removed double,
                removed_bought double,
                sold double
            )[]
        ),
        recursive := true
    )
