-- One row is one unbroken span of time that the usage of the cluster is billed for, by provider.
with
span as (
    select distinct
        provider,
        period_start,
        period_end
    from mine
    where charge_category = 'Usage' and period_end > period_start
),

begun as (
    select
        *,
        coalesce(
            period_start > max(period_end) over (
                partition by provider
                order by period_start, period_end
                rows between unbounded preceding and 1 preceding
            ),
            true
        ) as is_new
    from span
),

numbered as (
    select
        *,
        sum(cast(is_new as integer)) over (
            partition by provider
            order by period_start, period_end
            rows between unbounded preceding and current row
        ) as island
    from begun
)

select
    provider,
    cast(min(period_start) as timestamp) as span_start,
    cast(max(period_end) as timestamp) as span_end
from numbered
group by provider, island
order by provider, span_start
