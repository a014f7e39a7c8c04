"""All rules of this pack. Each is a function of one resource's type and inputs; none needs an account or Pulumi."""

import encryption
import exposure
import gpu_nodes
import lifecycle
import rights
import whole_stack
from rule import Rule, StackRule

RULES: tuple[Rule, ...] = (
    *exposure.RULES,
    *encryption.RULES,
    *rights.RULES,
    *gpu_nodes.RULES,
    *lifecycle.RULES,
)
STACK_RULES: tuple[StackRule, ...] = whole_stack.STACK_RULES
