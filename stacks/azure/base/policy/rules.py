"""The rules of this cluster on Azure, gathered from the modules beside this one."""

from collections.abc import Sequence

import rules_compute
import rules_data
import rules_network
import rules_rights
from rule import Rule, StackRule

RULES: Sequence[Rule] = (*rules_network.RULES, *rules_compute.RULES, *rules_data.RULES, *rules_rights.RULES)
STACK_RULES: Sequence[StackRule] = ()
