-- One row is one mix: how long what it owns takes from order to work, which share of it is paid at the order, and
-- whether it is leased and goes back.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                delivery_months double,
                deposit double,
                leased boolean
            )[]
        ),
        recursive := true
    )
