-- One row is one candidate with the share of its purchases charged per year, and its useful GPU-hours per year.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                fixed_charge_rate double,
                useful_gpu_hours_per_year double,
                discount_rate double,
                life_months double
            )[]
        ),
        recursive := true
    )
