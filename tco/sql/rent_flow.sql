-- One row is what one rented bill line costs in one month, or at the start of what is paid in advance (a commitment, a
-- capacity block), each renewed until the end of the horizon. What the end cuts off the last commitment stands there:
-- as a credit to the work that follows (`unused_term`), or as the rest that is still owed.
-- Hours worked follow the work of each month. Committed nodes are those of `commitment_lot`: those that the work needs
-- later are commitments of their own; `usd_each` is for the nodes of the bill, `scaled_by` names how many times that.
-- `inputs` are what the amount is proportional to; `price_set_month` is the month at whose start the price of nodes was
-- agreed, empty for everything else.
with
worked as (
    select
        stage.key,
        stage.month_end,
        period.months,
        stage.work,
        ceil(stage.month_end) - 1.0 as start_month
    from stage
    inner join period on stage.month_end = period.month_end
),

dated as (
    select
        rented_line.*,
        worked.month_end,
        rented_line.category as flow_category,
        rented_line.item as flow_item,
        worked.start_month as agreed_month,
        rented_line.usd_per_month
        * (1.0 - rented_line.upfront_fraction)
        * worked.months
        * if(rented_line.by_the_hour_worked, worked.work, 1.0) as usd,
        1.0 as nodes
    from rented_line
    inner join worked on rented_line.key = worked.key
    where not rented_line.committed
    union all
    select
        rented_line.*,
        block.start_month as month_end,
        rented_line.category as flow_category,
        rented_line.item || ', paid in advance' as flow_item,
        block.start_month as agreed_month,
        rented_line.usd_per_month * rented_line.upfront_fraction * block.work_months as usd,
        1.0 as nodes
    from rented_line
    inner join lateral (
        select
            floor(worked.start_month / rented_line.period_months) * rented_line.period_months as start_month,
            sum(worked.work * worked.months) as work_months
        from worked
        where worked.key = rented_line.key
        group by floor(worked.start_month / rented_line.period_months)
    ) as block on true
    where rented_line.by_the_hour_worked and rented_line.upfront_fraction > 0
    union all
    select
        rented_line.*,
        worked.month_end,
        rented_line.category as flow_category,
        rented_line.item as flow_item,
        commitment_lot.start_month as agreed_month,
        rented_line.usd_per_month
        * (1.0 - rented_line.upfront_fraction)
        * worked.months as usd,
        commitment_lot.nodes
    from rented_line
    inner join commitment_lot on rented_line.key = commitment_lot.key
    inner join worked
        on
            rented_line.key = worked.key
            and commitment_lot.start_month <= worked.start_month
            and commitment_lot.start_month + rented_line.period_months > worked.start_month
    where rented_line.committed
    union all
    select
        rented_line.*,
        commitment_lot.start_month as month_end,
        rented_line.category as flow_category,
        rented_line.item || ', paid in advance' as flow_item,
        commitment_lot.start_month as agreed_month,
        rented_line.usd_per_month
        * rented_line.upfront_fraction
        * rented_line.period_months as usd,
        commitment_lot.nodes
    from rented_line
    inner join commitment_lot on rented_line.key = commitment_lot.key
    where rented_line.committed and rented_line.upfront_fraction > 0
    union all
    select
        rented_line.*,
        $horizon_months as month_end,
        if(rented_line.rest = 'paid', rented_line.category, 'unused_term') as flow_category,
        rented_line.item
        || if(rented_line.rest = 'paid', ', rest of the commitment', ', paid in advance for later work') as flow_item,
        commitment_lot.start_month as agreed_month,
        rented_line.usd_per_month
        * (commitment_lot.start_month + rented_line.period_months - $horizon_months)
        * if(rented_line.rest = 'paid', 1.0 - rented_line.upfront_fraction, -rented_line.upfront_fraction) as usd,
        commitment_lot.nodes
    from rented_line
    inner join commitment_lot on rented_line.key = commitment_lot.key
    where
        rented_line.committed
        and commitment_lot.start_month + rented_line.period_months > $horizon_months
        and if(rented_line.rest = 'paid', rented_line.upfront_fraction < 1, rented_line.upfront_fraction > 0)
)

select
    scenario,
    key,
    month_end,
    flow_category as category,
    flow_item as item,
    'opex' as capex_or_opex,
    held,
    basis,
    source,
    price_date,
    confidence,
    committed as is_part,
    usd as usd_each,
    usd * nodes as usd,
    if(committed, 'commitment/' || key || '/' || cast(agreed_month as integer), null) as scaled_by,
    if(by_the_hour_worked, 'variable', 'fixed') as fixed_or_variable,
    if(by_the_hour_worked, ['cloud_price', 'run_time', 'utilisation'], []) as inputs,
    if(by_term, agreed_month, null) as price_set_month
from dated
