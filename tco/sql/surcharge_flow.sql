-- One row is one surcharge in one month: a share of other running costs of the same month. What is credited to later
-- work at the end takes the surcharge on it along, as a credit too.
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
        scaled_by,
        usd_each,
        usd,
        if(category = 'unused_term', 'compute', category) as category,
        category = 'unused_term' as credited
    from rent_flow
    union all by name
    select
        scenario,
        key,
        month_end,
        category,
        fixed_or_variable,
        held,
        inputs,
        scaled_by,
        usd_each,
        usd,
        false as credited
    from owner_flow
    where capex_or_opex = 'opex'
)

select
    charged.scenario,
    charged.key,
    charged.month_end,
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
    sum(charged.usd) * surcharge.fraction as usd,
    if(charged.credited, 'unused_term', surcharge.category) as category
from charged
inner join surcharge
    on charged.key = surcharge.key and list_contains(surcharge.of_categories, charged.category)
group by
    charged.scenario,
    charged.key,
    charged.month_end,
    surcharge.category,
    charged.credited,
    surcharge.item,
    surcharge.source,
    surcharge.fraction,
    charged.fixed_or_variable,
    charged.held,
    charged.inputs,
    charged.price_set_month,
    charged.scaled_by
