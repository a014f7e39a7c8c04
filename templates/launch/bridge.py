"""Fine-tunes with NVIDIA Megatron-Bridge 0.6 as bridge.yaml beside this file says; torchrun starts it on every node.

Weights are a folder of Hugging Face, and are converted while they are loaded. A job that is started again goes on from
its last checkpoint. Arguments are overrides of the configuration, for example `logger.log_interval=1`.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch
import yaml
from megatron.bridge import AutoBridge
from megatron.bridge.data.builders import ChatSFTPreprocessingConfig, GPTSFTDatasetConfig, HFDatasetSourceConfig
from megatron.bridge.data.packing import PackedSequenceSpecs
from megatron.bridge.peft.dora import DoRA
from megatron.bridge.peft.lora import LoRA
from megatron.bridge.training.callbacks import Callback, CallbackContext
from megatron.bridge.training.config import (
    CheckpointConfig,
    ConfigContainer,
    DistributedDataParallelConfig,
    LoggerConfig,
    OptimizerConfig,
    SchedulerConfig,
    TokenizerConfig,
    TrainingConfig,
    ValidationConfig,
)
from megatron.bridge.training.finetune import finetune
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import get_mixed_precision_config
from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides

ADAPTERS = {"lora": LoRA, "dora": DoRA}


class LoadedWeights(Callback):
    """Gives the weights that were loaded to the layers, where FSDP divides them.

    Release 0.6.0 loads a folder of Hugging Face into the optimizer's copy alone (training/checkpointing.py,
    `_load_hf_pretrained_checkpoint`): the first update would be computed with random weights.
    """

    def on_train_start(self, context: CallbackContext) -> None:
        """Copy the optimizer's weights into those of the layers."""
        for chunk in context.model:
            chunk.module.install_optimized_model_weights()


def source(data: str) -> HFDatasetSourceConfig:
    """Return where conversations are: a file of JSON lines, or a name of Hugging Face."""
    if data.startswith("/"):
        return HFDatasetSourceConfig(path_or_dataset="json", split="train", load_kwargs={"data_files": data})
    return HFDatasetSourceConfig(path_or_dataset=data, split="train")


def configuration(plan: dict[str, Any]) -> ConfigContainer:
    """Return the run's configuration: numbers of the plan, and what the job's environment says."""
    weights, results = os.environ["MODEL_PATH"], os.environ["CHECKPOINT_PATH"]
    model = AutoBridge.from_hf_pretrained(weights).to_megatron_provider(load_weights=False)
    for name, value in plan["model"].items():
        setattr(model, name, value)
    precision = dict(plan["mixed_precision"])
    mixed = get_mixed_precision_config(precision.pop("recipe"))
    for name, value in precision.items():
        setattr(mixed, name, value)
    packing, peft = plan["packing"], dict(plan["peft"] or {})
    return ConfigContainer(
        model=model,
        mixed_precision=mixed,
        train=TrainingConfig(**plan["train"]),
        validation=ValidationConfig(eval_iters=0),
        optimizer=OptimizerConfig(lr=float(os.environ["LEARNING_RATE"]), **plan["optimizer"]),
        scheduler=SchedulerConfig(**plan["scheduler"]),
        ddp=DistributedDataParallelConfig(**plan["ddp"]),
        dataset=GPTSFTDatasetConfig(
            hf_dataset=source(os.environ["DATA_PATH"]),
            hf_output_root=str(Path(results) / "data"),
            preprocessing=ChatSFTPreprocessingConfig(),
            do_validation=False,
            do_test=False,
            offline_packing_specs=PackedSequenceSpecs(**packing) if packing else None,
            **plan["dataset"],
        ),
        tokenizer=TokenizerConfig(tokenizer_type="HuggingFaceTokenizer", tokenizer_model=weights),
        peft=ADAPTERS[peft.pop("method")](**peft) if peft else None,
        checkpoint=CheckpointConfig(pretrained_checkpoint=weights, save=results, load=results, **plan["checkpoint"]),
        logger=LoggerConfig(**plan["logger"]),
    )


def main() -> None:
    """Run the fine-tuning."""
    plan = yaml.safe_load(Path(__file__).with_name("bridge.yaml").read_text(encoding="utf-8"))
    config = configuration(plan)
    if sys.argv[1:]:
        config = process_config_with_overrides(config, cli_overrides=sys.argv[1:])
    finetune(config, forward_step, callbacks=[LoadedWeights()] if config.ddp.use_megatron_fsdp else None)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
