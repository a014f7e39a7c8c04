"""All rules of this pack. Each is a function of one resource's type and inputs; none needs an account or Pulumi."""

import data_rights
import encryption
import exposure
import fabric_rules
import gpu_nodes
import kubernetes_parts
import lifecycle
import rights
import watches
import ways_out
import whole_stack
from job_pods import pods_keep_off_the_node
from protection import protected
from rule import Rule, StackRule
from volumes import claims_find_their_volumes
from wanted import rules_of
from wanted_kubernetes import KUBERNETES
from wanted_values import VALUES

RULES: tuple[Rule, ...] = (
    *exposure.RULES,
    *encryption.RULES,
    *rights.RULES,
    *gpu_nodes.RULES,
    *lifecycle.RULES,
    *kubernetes_parts.RULES,
    *watches.RULES,
    *rules_of((*VALUES, *KUBERNETES)),
)
STACK_RULES: tuple[StackRule, ...] = (
    *whole_stack.STACK_RULES,
    *watches.STACK_RULES,
    *data_rights.STACK_RULES,
    *fabric_rules.STACK_RULES,
    *ways_out.STACK_RULES,
    *kubernetes_parts.STACK_RULES,
    *pods_keep_off_the_node(),
    *claims_find_their_volumes(),
    protected(("aws:fsx/lustreFileSystem:LustreFileSystem", "aws:kms/key:Key", "aws:s3/bucket:Bucket")),
)
