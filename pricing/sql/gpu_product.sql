-- One row is one product with accelerators that a question is about: what one unit holds, the terms that it may be
-- sold under, and what one accelerator of it can do; unknown facts are empty.
select
    p.sku,
    p.provider,
    p.accelerator,
    cast(p.gpus as integer) as gpus,
    p.terms,
    cast(p.dense_bf16_flop_per_s_per_gpu as double) as dense_bf16_flop_per_s_per_gpu,
    cast(p.dense_fp8_flop_per_s_per_gpu as double) as dense_fp8_flop_per_s_per_gpu,
    cast(p.hbm_bytes_per_gpu as double) as hbm_bytes_per_gpu
from (select unnest($products, max_depth := 2)) as p
where p.sku <> ''
