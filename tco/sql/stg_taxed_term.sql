-- One row is one term of one option: its present value after tax. Without taxes there is none.
select
    cast('' as varchar) as key,
    cast('' as varchar) as term,
    cast(0.0 as double) as usd
where false
