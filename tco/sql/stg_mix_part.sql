-- One row is what one candidate gives to one mix: shares of its fixed and variable costs between two months.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                part_key varchar,
                fixed_share double,
                variable_share double,
                from_month double,
                to_month double
            )[]
        ),
        recursive := true
    )
