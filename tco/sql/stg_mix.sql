-- One row is one mix: how long what it owns takes from order to work, and which share of it is paid at the order.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                delivery_months double,
                deposit double
            )[]
        ),
        recursive := true
    )
