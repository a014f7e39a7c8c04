-- One row is one way to do the work: a cluster of one size on one target.
select
    unnest(
        cast(
            $rows as struct(
                key varchar,
                owned boolean,
                priced boolean,
                competes boolean,
                listed boolean,
                nodes double,
                gpus double,
                calendar_days double,
                run_time_low double,
                run_time_high double,
                utilisation double,
                it_power_w double
            )[]
        ),
        recursive := true
    )
