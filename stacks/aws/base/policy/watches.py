"""Who is told of what: budgets with somebody at the other end, alarms and watchdogs that are awake, logs that stay."""

from collections.abc import Sequence

from reading import Inputs, is_off, objects, texts
from rights import allowed
from rule import UNKNOWN, Registered, Rule, StackRule

#: Percent of a budget at which a message is late.
LATE_PERCENT = 100


def told_in_time(type_: str, inputs: Inputs) -> Sequence[str]:
    """A budget tells somebody before it is spent."""
    if type_ != "aws:budgets/budget:Budget":
        return []
    notifications = objects(inputs, "notifications")
    if inputs.get("notifications") == UNKNOWN:
        return []
    heard = [one for one in notifications if one.get("subscriberSnsTopicArns") or one.get("subscriberEmailAddresses")]
    if not heard:
        return ["tells nobody: add notifications with subscribers"]
    early = [one for one in heard if _is_early(one)]
    return [] if early else [f"tells when more than {LATE_PERCENT} % of it is spent: add a lower threshold"]


def _is_early(notification: Inputs) -> bool:
    threshold = notification.get("threshold")
    of_money = notification.get("thresholdType") == "ABSOLUTE_VALUE"
    return of_money or not isinstance(threshold, int | float) or threshold <= LATE_PERCENT


def awake(type_: str, inputs: Inputs) -> Sequence[str]:
    """Alarms, schedules and rules are on, and alarms do something."""
    if type_ in ("aws:scheduler/schedule:Schedule", "aws:cloudwatch/eventRule:EventRule"):
        off = inputs.get("state") == "DISABLED" or inputs.get("isEnabled") is False
        return ["is switched off: nothing starts it"] if off else []
    heard = inputs.get("alarmActions") and inputs.get("actionsEnabled") is not False
    if type_ == "aws:cloudwatch/metricAlarm:MetricAlarm" and not heard:
        return ["tells nobody: it has no alarmActions, or they are switched off"]
    return []


def kept_logs(type_: str, inputs: Inputs) -> Sequence[str]:
    """Logs hold what is refused, for a time that is chosen."""
    if type_ == "aws:ec2/flowLog:FlowLog":
        kind = inputs.get("trafficType")
        return [] if kind in ("REJECT", "ALL", UNKNOWN) else [f"trafficType is {kind}: what is refused is not in it"]
    if type_ != "aws:cloudwatch/logGroup:LogGroup":
        return []
    days = inputs.get("retentionInDays")
    return ["grows without an end: set retentionInDays"] if days in (None, 0) else []


def usable_keys(type_: str, inputs: Inputs) -> Sequence[str]:
    """Keys of what exists are switched on."""
    if type_ == "aws:kms/key:Key" and inputs.get("isEnabled") is False:
        return ["is switched off: nothing that it encrypts can be read"]
    return []


def nodes_are_replaced(type_: str, inputs: Inputs) -> Sequence[str]:
    """A group replaces what fails: what does that is not suspended."""
    if type_ != "aws:autoscaling/group:Group" or is_off(inputs.get("suspendedProcesses")):
        return []
    needed = {"Launch", "Terminate", "HealthCheck", "ReplaceUnhealthy"} & set(texts(inputs, "suspendedProcesses"))
    return [f"suspends {', '.join(sorted(needed))}: a lost node is not replaced"] if needed else []


def budgets_may_publish(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A topic of this stack that a budget notifies accepts messages of budgets; refused messages are lost."""
    budgets = [one for one in resources if one.type == "aws:budgets/budget:Budget"]
    policies = [one for one in resources if one.type == "aws:sns/topicPolicy:TopicPolicy"]
    found: list[tuple[str, str]] = []
    for topic in (one.urn for one in resources if one.type == "aws:sns/topic:Topic"):
        told = [one.urn for one in budgets if one.leads_to("notifications", topic)]
        of_topic = [one for one in policies if one.leads_to("arn", topic)]
        known = of_topic and all(one.inputs.get("policy") != UNKNOWN for one in of_topic)
        if known and not any(_budgets_publish(one.type, one.inputs) for one in of_topic):
            found += [(urn, "tells a topic that takes nothing from budgets.amazonaws.com") for urn in told]
    return found


def _budgets_publish(type_: str, inputs: Inputs) -> bool:
    services = [
        service
        for one in allowed(type_, inputs)
        for principal in objects(one, "Principal")
        for service in texts(principal, "Service")
    ]
    return "budgets.amazonaws.com" in services


STACK_RULES = (StackRule(name="budgets-are-heard", description="Budgets may publish.", check=budgets_may_publish),)
RULES = (
    Rule(name="told-in-time", description="Budgets tell somebody in time.", check=told_in_time),
    Rule(name="watches-are-awake", description="Alarms and schedules are on.", check=awake),
    Rule(name="logs-are-kept", description="Logs hold what they are for.", check=kept_logs),
    Rule(name="keys-are-on", description="Keys are usable.", check=usable_keys),
    Rule(name="nodes-are-replaced", description="Lost nodes are replaced.", check=nodes_are_replaced),
)
