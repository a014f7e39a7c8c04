-- One row is one amount of one candidate beside its bill, per month or once at the start.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                category varchar,
                item varchar,
                usd double,
                once boolean,
                basis varchar,
                source varchar,
                price_date varchar,
                confidence varchar
            )[]
        ),
        recursive := true
    )
