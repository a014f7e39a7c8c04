"""Hand-made records for the tests of facility and its documents."""

from clusterwright.catalog.records import Accelerator, NodeType
from clusterwright.sizing.records.job import Layout, MemoryPerGpu, StepTime, TrainingPoint
from clusterwright.sizing.records.loading import DataFeed
from clusterwright.sizing.records.run import Goodput, StorageNeed


def storage_need(*, capacity_bytes: float = 90e12, bytes_per_s: float = 20e9) -> StorageNeed:
    """A need in which reading is half of writing, so that the larger one matters."""
    return StorageNeed(
        dataset_bytes=1.2e12,
        checkpoint_bytes_kept=24e12,
        capacity_bytes=capacity_bytes,
        read_bytes_per_s=bytes_per_s / 2,
        write_bytes_per_s=bytes_per_s,
    )


def data_feed() -> DataFeed:
    """Return the loading of tokenised text, which training never waits for."""
    return DataFeed(
        bytes_per_token=2,
        workers=2,
        prefetch_batches=2,
        worker_bytes_per_s=1e8,
        staged=False,
        loading_ranks=12,
        ranks_per_node=1,
        read_bytes_per_s=2e6,
        read_bytes_per_s_per_node=2e5,
        shared_read_bytes_per_s=2e6,
        workers_s=0.01,
        node_s=None,
        shared_s=None,
        pause_s=0,
        ready_share=1,
        stall_s=0,
        limited_by="",
        workers_needed=1,
        node_bytes_per_s_needed=2e5,
        shared_bytes_per_s_needed=2e6,
        prefetch_bytes_per_node=1e5,
        staged_bytes_per_node=0,
        staging_s=0,
        first_batch_s=1e-3,
        startup_s=0,
        restart_s=0,
    )


def sized_point(*, nodes: int = 48) -> TrainingPoint:
    """A sized cluster of p5.48xlarge."""
    accelerator = Accelerator(
        id="h100-sxm-80gb", name="H100 SXM", vendor="NVIDIA", generation="hopper", form="sxm", gres_type="h100"
    )
    node = NodeType(
        id="p5.48xlarge",
        accelerator=accelerator,
        gpus=8,
        hbm_bytes_per_gpu=80e9,
        network_kind="efa",
        network_bytes_per_s_per_gpu_one_way=50e9,
    )
    return TrainingPoint(
        node=node,
        nodes=nodes,
        gpus=nodes * 8,
        layout=Layout(
            tp=8,
            sp=1,
            pp=8,
            vpp=1,
            dp=6,
            cp=1,
            ep=1,
            zero_stage=1,
            micro_batch=1,
            micro_batches=256,
            recompute="selective",
        ),
        memory=MemoryPerGpu(
            weights=1e9, gradients=1e9, optimizer=1e9, activations=1e9, logits=1e9, communication=1e9, reserve=1e9
        ),
        step=StepTime(
            compute_s=1,
            tensor_parallel_s=0,
            pipeline_bubble_s=0,
            pipeline_transfer_s=0,
            data_parallel_s=0,
            optimizer_s=0,
        ),
        mfu=0.4,
        tokens_per_s_per_gpu=500,
        goodput=Goodput(
            fraction=0.9,
            mean_time_between_interruptions_s=1e5,
            checkpoint_bytes=2.4e12,
            checkpoint_write_s=60,
            checkpoint_interval_s=3600,
            restart_s=600,
        ),
        storage=storage_need(),
        calendar_days=20,
        calendar_days_low=18,
        calendar_days_high=23,
        limited_by=(),
        data=data_feed(),
    )
