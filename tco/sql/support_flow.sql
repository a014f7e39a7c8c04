-- One row is what the support plan of one candidate costs in one month: the tiers' shares of the month's rent and
-- charges, or the least fee, spread over the rows that they are of.
with
charged as (
    select
        scenario,
        key,
        month_end,
        fixed_or_variable,
        held,
        inputs,
        price_set_month,
        usd
    from rent_flow
    where category <> 'unused_term'
    union all
    select
        scenario,
        key,
        month_end,
        fixed_or_variable,
        held,
        inputs,
        null as price_set_month,
        usd
    from charge_flow
),

spend as (
    select
        charged.scenario,
        charged.key,
        charged.month_end,
        sum(charged.usd) as usd
    from charged
    group by charged.scenario, charged.key, charged.month_end
),

fee as (
    select
        spend.scenario,
        spend.key,
        spend.month_end,
        spend.usd as spend_usd,
        any_value(support_tier.item) as item,
        any_value(support_tier.basis) as basis,
        any_value(support_tier.source) as source,
        any_value(support_tier.price_date) as price_date,
        any_value(support_tier.confidence) as confidence,
        greatest(
            max(support_tier.minimum_usd),
            sum(
                support_tier.fraction
                * greatest(0.0, least(spend.usd, coalesce(support_tier.to_usd, spend.usd)) - support_tier.from_usd)
            )
        ) as usd
    from spend
    inner join support_tier on spend.key = support_tier.key
    where spend.usd > 0
    group by spend.scenario, spend.key, spend.month_end, spend.usd
)

select
    charged.scenario,
    charged.key,
    charged.month_end,
    'support_plan' as category,
    fee.item,
    'opex' as capex_or_opex,
    charged.fixed_or_variable,
    charged.held,
    charged.inputs,
    charged.price_set_month,
    fee.basis,
    fee.source,
    fee.price_date,
    fee.confidence,
    sum(charged.usd) * fee.usd / fee.spend_usd as usd
from charged
inner join fee
    on charged.scenario = fee.scenario and charged.key = fee.key and charged.month_end = fee.month_end
group by
    charged.scenario,
    charged.key,
    charged.month_end,
    charged.fixed_or_variable,
    charged.held,
    charged.inputs,
    charged.price_set_month,
    fee.item,
    fee.basis,
    fee.source,
    fee.price_date,
    fee.confidence,
    fee.usd,
    fee.spend_usd
