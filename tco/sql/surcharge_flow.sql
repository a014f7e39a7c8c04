-- One row is one surcharge in one month: a share of other running costs of the same month.
with
charged as (
    select
        scenario,
        key,
        month_end,
        category,
        fixed_or_variable,
        held,
        inputs,
        price_set_month,
        scaled_by,
        usd_each,
        usd
    from rent_flow
    where category <> 'unused_term'
    union all
    select
        scenario,
        key,
        month_end,
        category,
        fixed_or_variable,
        held,
        inputs,
        null as price_set_month,
        scaled_by,
        usd_each,
        usd
    from owner_flow
    where capex_or_opex = 'opex'
)

select
    charged.scenario,
    charged.key,
    charged.month_end,
    surcharge.category,
    surcharge.item,
    'opex' as capex_or_opex,
    charged.fixed_or_variable,
    charged.held,
    'given' as basis,
    surcharge.source,
    '' as price_date,
    'high' as confidence,
    charged.inputs,
    charged.price_set_month,
    charged.scaled_by,
    sum(charged.usd_each) * surcharge.fraction as usd_each,
    sum(charged.usd) * surcharge.fraction as usd
from charged
inner join surcharge
    on charged.key = surcharge.key and list_contains(surcharge.of_categories, charged.category)
group by
    charged.scenario,
    charged.key,
    charged.month_end,
    surcharge.category,
    surcharge.item,
    surcharge.source,
    surcharge.fraction,
    charged.fixed_or_variable,
    charged.held,
    charged.inputs,
    charged.price_set_month,
    charged.scaled_by
