-- One row is what one candidate buys, adds, takes out and sells at the end of a month (0 is the start), over the first
-- purchase.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
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
