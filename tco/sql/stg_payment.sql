-- One row is what one financed mix pays, or borrows (negative), at the end of one month for 1 USD of its purchases;
-- an empty month is that of the purchase.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                month_end double,
                category varchar,
                usd double
            )[]
        ),
        recursive := true
    )
