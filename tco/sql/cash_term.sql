-- One row is one dated, tagged part of an amount of one option, with the inputs it is proportional to (the names of the
-- columns of a draw): what `cash_flow` shows and what draws of uncertain inputs scale. A mix holds its shares of the
-- rows of its parts; `part_key` is the candidate that a row comes from.
with
-- What is bought at the start is had until it is sold, whenever it begins to work: purchases and sales belong to the
-- part of a candidate that ends last, and of the first purchase one share is paid at the order, the rest at delivery.
share as (
    select
        mix_part.key,
        mix_part.part_key,
        mix_part.fixed_share,
        mix_part.variable_share,
        mix_part.from_month,
        coalesce(mix_part.to_month, $horizon_months) as to_month,
        row_number() over (partition by mix_part.key, mix_part.part_key order by mix_part.from_month desc) = 1
            as is_last,
        mix.delivery_months,
        mix.deposit
    from mix_part
    inner join mix on mix_part.key = mix.key
    inner join option_work on mix_part.key = option_work.key and option_work.priced
),

payment as (
    select
        *,
        unnest(if(deposit < 1.0, [0.0, delivery_months], [0.0])) as paid_later_months,
        unnest(if(deposit < 1.0, [deposit, 1.0 - deposit], [1.0])) as paid_share
    from share
)

select
    part_term.key,
    part_term.key as part_key,
    part_term.scenario,
    part_term.month_end,
    part_term.category,
    part_term.item,
    part_term.capex_or_opex,
    part_term.fixed_or_variable,
    part_term.held,
    part_term.inputs,
    part_term.basis,
    part_term.source,
    part_term.price_date,
    part_term.confidence,
    part_term.is_part,
    part_term.price_set_month,
    part_term.usd
from part_term
inner join option_work on part_term.key = option_work.key
union all
select
    share.key,
    part_term.key as part_key,
    part_term.scenario,
    part_term.month_end,
    part_term.category,
    part_term.item,
    part_term.capex_or_opex,
    part_term.fixed_or_variable,
    part_term.held,
    part_term.inputs,
    part_term.basis,
    part_term.source,
    part_term.price_date,
    part_term.confidence,
    part_term.is_part,
    part_term.price_set_month,
    part_term.usd * if(part_term.fixed_or_variable = 'fixed', share.fixed_share, share.variable_share) as usd
from part_term
inner join share
    on
        part_term.key = share.part_key
        and part_term.month_end <= share.to_month
        and (part_term.month_end > share.from_month or (part_term.month_end = 0 and share.from_month = 0))
where part_term.capex_or_opex <> 'capex'
union all
select
    payment.key,
    part_term.key as part_key,
    part_term.scenario,
    part_term.month_end + if(part_term.month_end = 0, payment.paid_later_months, 0.0) as month_end,
    part_term.category,
    part_term.item,
    part_term.capex_or_opex,
    part_term.fixed_or_variable,
    part_term.held,
    part_term.inputs,
    part_term.basis,
    part_term.source,
    part_term.price_date,
    part_term.confidence,
    part_term.is_part,
    part_term.price_set_month,
    part_term.usd * payment.fixed_share * if(part_term.month_end = 0, payment.paid_share, 1.0) as usd
from part_term
inner join payment on part_term.key = payment.part_key and payment.is_last
where part_term.capex_or_opex = 'capex' and (part_term.month_end = 0 or payment.paid_later_months = 0)
