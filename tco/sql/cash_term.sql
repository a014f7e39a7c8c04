-- One row is one dated, tagged part of an amount of one option, with the inputs it is proportional to (the names of the
-- columns of a draw): what `cash_flow` shows and what draws of uncertain inputs scale. A candidate is all of itself; a
-- mix holds its shares of the rows of its parts; `part_key` is the candidate that a row comes from. `usd` is what the
-- base comes to, `usd_each` is for one unit of `scaled_by` (see `part_term`; of a mix also the share of the work).
-- What is bought is had until it is sold, whenever it begins to work: purchases and sales belong to the part of a
-- candidate that begins last. Of the first purchase one share is paid at the order, the rest at delivery. What is
-- financed is paid for as `payment` says of each of the purchases: interest and lease are running costs, principal is
-- neither cost nor purchase.
with
part as (
    select
        key,
        key as part_key,
        1.0 as fixed_share,
        1.0 as variable_share,
        0.0 as from_month,
        $horizon_months as to_month,
        false as mixed,
        true as is_last,
        0.0 as delivery_months,
        1.0 as deposit,
        false as leased
    from option_work
    where not mixed
    union all
    select
        mix_part.key,
        mix_part.part_key,
        mix_part.fixed_share,
        mix_part.variable_share,
        mix_part.from_month,
        coalesce(mix_part.to_month, $horizon_months) as to_month,
        true as mixed,
        row_number() over (partition by mix_part.key, mix_part.part_key order by mix_part.from_month desc) = 1
            as is_last,
        mix.delivery_months,
        mix.deposit,
        mix.leased
    from mix_part
    inner join mix on mix_part.key = mix.key
    inner join option_work on mix_part.key = option_work.key and option_work.priced
),

instalment as (
    select
        *,
        unnest(if(deposit < 1.0, [0.0, delivery_months], [0.0])) as paid_later_months,
        unnest(if(deposit < 1.0, [deposit, 1.0 - deposit], [1.0])) as paid_share
    from part
),

shared as (
    select
        instalment.key,
        part_term.key as part_key,
        part_term.scenario,
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
        part_term.scaled_by as part_scaled_by,
        part_term.usd_each,
        part_term.usd,
        part_term.month_end + instalment.paid_later_months as month_end,
        if(
            instalment.mixed and part_term.fixed_or_variable = 'variable',
            'share/' || instalment.key || '/' || instalment.part_key || '/' || cast(instalment.from_month as integer),
            null
        ) as share_of_work,
        if(part_term.fixed_or_variable = 'fixed', instalment.fixed_share, instalment.variable_share)
        * if(part_term.capex_or_opex = 'capex' and part_term.month_end = 0, instalment.paid_share, 1.0) as had_share,
        instalment.leased and part_term.capex_or_opex = 'capex' as is_leased
    from part_term
    inner join instalment
        on
            part_term.key = instalment.part_key
            and if(
                part_term.capex_or_opex = 'capex',
                instalment.is_last and (part_term.month_end = 0 or instalment.paid_later_months = 0),
                instalment.paid_later_months = 0
                and part_term.month_end <= instalment.to_month
                and (
                    part_term.month_end > instalment.from_month
                    or (part_term.month_end = 0 and instalment.from_month = 0)
                )
            )
),

purchase as (
    select
        key,
        part_key,
        scenario,
        month_end,
        inputs,
        basis,
        confidence,
        part_scaled_by as scaled_by,
        sum(usd_each * had_share) as usd_each,
        sum(usd * had_share) as usd
    from shared
    where capex_or_opex = 'capex' and category <> 'resale'
    group by key, part_key, scenario, month_end, inputs, basis, confidence, part_scaled_by
)

select
    key,
    part_key,
    scenario,
    month_end,
    category,
    item,
    capex_or_opex,
    fixed_or_variable,
    held,
    inputs,
    basis,
    source,
    price_date,
    confidence,
    is_part,
    price_set_month,
    coalesce(share_of_work, part_scaled_by) as scaled_by,
    usd_each * if(share_of_work is null, had_share, 1.0) as usd_each,
    usd * had_share as usd
from shared
where not is_leased
union all
select
    purchase.key,
    purchase.part_key,
    purchase.scenario,
    coalesce(payment.month_end, purchase.month_end) as month_end,
    payment.category,
    concat(upper(payment.category[1]), payment.category[2:], ' of what is bought') as item,
    if(payment.category = 'principal', 'financing', 'opex') as capex_or_opex,
    'fixed' as fixed_or_variable,
    true as held,
    purchase.inputs,
    purchase.basis,
    'blueprint' as source,
    '' as price_date,
    purchase.confidence,
    true as is_part,
    null as price_set_month,
    purchase.scaled_by,
    purchase.usd_each * payment.usd as usd_each,
    purchase.usd * payment.usd as usd
from purchase
inner join payment on purchase.key = payment.key
