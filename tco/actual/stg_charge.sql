-- One row is one charge of a FOCUS export, renamed and cast; `tagging` says whether the tag is there with $wanted
-- (`mine`), with another value (`other`), or not at all (`none`). Tags are looked up without regard to case: $in_object
-- finds the value in an object (with braces or without), $in_list the pair in a list of keys and values.
with
spoken as (
    select
        *,
        lower(coalesce(tags, '')) as tags_text
    from named
),

looked_up as (
    select
        *,
        case
            when not contains(tags_text, $key) and not contains(tags_text, replace($key, '-', '_')) then ''
            when left(ltrim(tags_text), 1) = '['
                then regexp_extract(regexp_extract(tags_text, $in_list), '"value"\s*:\s*"([^"]*)"', 1)
            else regexp_extract(tags_text, $in_object, 1)
        end as tag_value
    from spoken
)

select -- noqa: ST06
    coalesce(provider, '') as provider,
    coalesce(service, '') as service,
    coalesce(sku, '') as sku,
    coalesce(bill_line, '') as bill_line,
    concat_ws(' | ', nullif(meter, ''), nullif(usage_type, ''), nullif(resource_type, '')) as meter,
    coalesce(description, '') as description,
    coalesce(charge_category, '') as charge_category,
    coalesce(charge_class, '') as charge_class,
    coalesce(pricing_category, '') as pricing_category,
    coalesce(commitment_status, '') as commitment_status,
    coalesce(sub_account, '') as sub_account,
    coalesce(upper(currency), '') as currency,
    coalesce(lower(unit), '') as unit,
    try_cast(quantity as double) as quantity,
    try_cast(amount as double) as amount,
    cast(amount as varchar) as amount_text,
    try_cast(period_start as timestamptz) as period_start,
    try_cast(period_end as timestamptz) as period_end,
    concat_ws(' to ', cast(period_start as varchar), cast(period_end as varchar)) as period_text,
    cast(billing_start as varchar) as billing_start,
    row_hash,
    tag_value,
    case
        when tag_value = '' then 'none'
        when tag_value = $wanted then 'mine'
        else 'other'
    end as tagging
from looked_up
