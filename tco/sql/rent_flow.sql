-- One row is what one rented bill line costs in one month, or at the start of what is paid in advance (a commitment, a
-- capacity block), each renewed until the end of the horizon. What the end cuts off the last commitment stands there:
-- as a credit to the work that follows (`unused_term`), or as the rest that is still owed.
-- Where the work grows, hours worked do from year to year, and so do committed nodes that no longer suffice: what is
-- paid in advance is for the nodes at the start of the term, those that come later are paid by the month until its end.
-- `inputs` are what the amount is proportional to; `price_set_month` is the month at whose start the price of nodes was
-- agreed, empty for everything else.
with
term_start as (
    select
        rented_line.*,
        counted.number * rented_line.period_months as start_month
    from rented_line
    cross join
        unnest(
            range(0, cast(ceil($horizon_months / rented_line.period_months) as bigint))
        ) as counted (number)
    where rented_line.by_term and (rented_line.upfront_fraction > 0 or rented_line.rest = 'paid')
),

cut_off as (
    select
        term_start.*,
        -- What is booked by the hours worked is never longer than the work.
        if(
            term_start.committed,
            greatest(0.0, term_start.start_month + term_start.period_months - $horizon_months),
            0.0
        )
            as months_left
    from term_start
),

dated as (
    select
        rented_line.*,
        period.month_end,
        rented_line.category as flow_category,
        rented_line.item as flow_item,
        floor((ceil(period.month_end) - 1.0) / if(rented_line.committed, rented_line.period_months, 1.0))
        * if(rented_line.committed, rented_line.period_months, 1.0) as agreed_month,
        floor((ceil(period.month_end) - 1.0) / 12.0) as years_before,
        rented_line.upfront_fraction as paid_ahead,
        rented_line.usd_per_month * period.months as usd
    from rented_line
    cross join period
    union all
    select
        cut_off.* exclude (start_month, months_left),
        cut_off.start_month as month_end,
        cut_off.category as flow_category,
        cut_off.item || ', paid in advance' as flow_item,
        cut_off.start_month as agreed_month,
        floor(cut_off.start_month / 12.0) as years_before,
        0.0 as paid_ahead,
        cut_off.usd_per_month
        * cut_off.upfront_fraction
        * if(
            cut_off.committed,
            cut_off.period_months,
            least(cut_off.period_months, $horizon_months - cut_off.start_month)
        ) as usd
    from cut_off
    where cut_off.upfront_fraction > 0
    union all
    select
        cut_off.* exclude (start_month, months_left),
        $horizon_months as month_end,
        if(cut_off.rest = 'paid', cut_off.category, 'unused_term') as flow_category,
        cut_off.item
        || if(cut_off.rest = 'paid', ', rest of the commitment', ', paid in advance for later work') as flow_item,
        cut_off.start_month as agreed_month,
        floor(cut_off.start_month / 12.0) as years_before,
        0.0 as paid_ahead,
        cut_off.usd_per_month
        * cut_off.months_left
        * if(cut_off.rest = 'paid', 1.0 - cut_off.upfront_fraction, -cut_off.upfront_fraction) as usd
    from cut_off
    where
        cut_off.months_left > 0
        and if(cut_off.rest = 'paid', cut_off.upfront_fraction < 1, cut_off.upfront_fraction > 0)
)

select
    dated.scenario,
    dated.key,
    dated.month_end,
    dated.flow_category as category,
    dated.flow_item as item,
    'opex' as capex_or_opex,
    dated.held,
    dated.basis,
    dated.source,
    dated.price_date,
    dated.confidence,
    dated.usd
    * case
        when dated.by_the_hour_worked
            then (1.0 - dated.paid_ahead) * power(1.0 + $growth_per_year, dated.years_before)
        when dated.committed
            then
                (
                    greatest(1.0, dated.busy_fraction * power(1.0 + $growth_per_year, dated.years_before))
                    - dated.paid_ahead
                    * greatest(
                        1.0,
                        dated.busy_fraction * power(1.0 + $growth_per_year, floor(dated.agreed_month / 12.0))
                    )
                )
                / greatest(1.0, dated.busy_fraction)
        else 1.0 - dated.paid_ahead
    end as usd,
    if(dated.by_the_hour_worked, 'variable', 'fixed') as fixed_or_variable,
    if(dated.by_the_hour_worked, ['cloud_price', 'run_time', 'utilisation'], []) as inputs,
    if(dated.by_term, dated.agreed_month, null) as price_set_month
from dated
