"""IAM policy documents from typed statements, so that a misspelt field is an error and not a silent no-op."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

Conditions = Mapping[str, Mapping[str, pulumi.Input[str] | Sequence[pulumi.Input[str]]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One statement of a policy; `principal` only in policies attached to a resource or role."""

    sid: str
    actions: Sequence[str]
    resources: Sequence[pulumi.Input[str]] = ()
    effect: str = "Allow"
    principal: Mapping[str, pulumi.Input[str]] = field(default_factory=dict[str, pulumi.Input[str]])
    conditions: Conditions = field(
        default_factory=dict[str, Mapping[str, pulumi.Input[str] | Sequence[pulumi.Input[str]]]]
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Where the stack is deployed, as parts of resource names (ARNs)."""

    account_id: pulumi.Output[str]
    partition: pulumi.Output[str]
    region: str

    def arn(self, service_and_rest: str) -> pulumi.Output[str]:
        """Build an ARN of this account and region, for example from `logs:*:log-group:/x`."""
        service, rest = service_and_rest.split(":", 1)
        return pulumi.Output.format(
            "arn:{0}:{1}:{2}:{3}:{4}", self.partition, service, self.region, self.account_id, rest
        )

    def iam_arn(self, rest: str) -> pulumi.Output[str]:
        """Build an IAM ARN, which has no region, for example from `root`."""
        return pulumi.Output.format("arn:{0}:iam::{1}:{2}", self.partition, self.account_id, rest)


def look_up_account(provider: aws.Provider, region: str) -> Account:
    """Ask AWS which account and partition the provider's credentials belong to."""
    options = pulumi.InvokeOptions(provider=provider)
    return Account(
        account_id=aws.get_caller_identity_output(opts=options).account_id,
        partition=aws.get_partition_output(opts=options).partition,
        region=region,
    )


def document(*statements: Statement) -> pulumi.Output[str]:
    """Write statements as a policy document."""
    return pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [_as_json(one) for one in statements]})


def _as_json(statement: Statement) -> dict[str, object]:
    body: dict[str, object] = {
        "Sid": statement.sid,
        "Effect": statement.effect,
        "Action": list(statement.actions),
    }
    if statement.resources:
        body["Resource"] = list(statement.resources)
    if statement.principal:
        body["Principal"] = dict(statement.principal)
    if statement.conditions:
        body["Condition"] = {test: dict(keys) for test, keys in statement.conditions.items()}
    return body


def service_trust(service: str, account: Account) -> pulumi.Output[str]:
    """Write the trust policy that lets one AWS service of this account assume a role."""
    return document(
        Statement(
            sid="Assume",
            actions=["sts:AssumeRole"],
            principal={"Service": service},
            conditions={}
            if service == "ec2.amazonaws.com"
            else {"StringEquals": {"aws:SourceAccount": account.account_id}},
        )
    )
