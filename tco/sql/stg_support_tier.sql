-- One row is one step of the support plan of one candidate: the share of a month's spend between two amounts.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                item varchar,
                from_usd double,
                to_usd double,
                fraction double,
                minimum_usd double,
                basis varchar,
                source varchar,
                price_date varchar,
                confidence varchar
            )[]
        ),
        recursive := true
    )
