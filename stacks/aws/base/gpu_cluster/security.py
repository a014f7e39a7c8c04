"""Security groups. Nothing accepts traffic from an address range: every inbound rule names another group."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

# TCP ports of Lustre are 988 and 1018 to 1023 (Amazon FSx for Lustre User Guide, "File system access control with
# Amazon VPC"); one range holds both, and only between these groups.
LUSTRE_PORTS = (988, 1023)
ALL_PROTOCOLS = "-1"


@dataclass(frozen=True, kw_only=True, slots=True)
class SecurityGroupsArgs:
    """What the security groups need."""

    vpc_id: pulumi.Input[str]


class SecurityGroups(pulumi.ComponentResource):
    """The group of the cluster's machines and of the endpoints they use, and that of the file system."""

    def __init__(self, name: str, args: SecurityGroupsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:SecurityGroups", name, None, opts)
        self._child = pulumi.ResourceOptions(parent=self)
        self._name = name
        cluster = self._group("cluster", args, "Machines of the cluster, and endpoints of AWS services")
        lustre = self._group("lustre", args, "Lustre file system")

        # EFA needs every protocol to and from the group itself, outbound too: a rule for an address range is not enough
        # (Amazon EC2 User Guide, "Prepare an EFA-enabled security group").
        self._allow("cluster-self", ALL_PROTOCOLS, None, source=cluster, target=cluster)
        self._allow("cluster-lustre", "tcp", LUSTRE_PORTS, source=cluster, target=lustre)
        self._allow("lustre-cluster", "tcp", LUSTRE_PORTS, source=lustre, target=cluster)
        self._allow("lustre-self", "tcp", LUSTRE_PORTS, source=lustre, target=lustre)
        for port, purpose in ((443, "HTTPS: AWS services and packages"), (80, "HTTP: package mirrors")):
            aws.vpc.SecurityGroupEgressRule(
                f"{name}-cluster-out-{port}",
                security_group_id=cluster.id,
                cidr_ipv4="0.0.0.0/0",
                ip_protocol="tcp",
                from_port=port,
                to_port=port,
                description=purpose,
                opts=self._child,
            )
        self.cluster_id: pulumi.Output[str] = cluster.id
        self.lustre_id: pulumi.Output[str] = lustre.id
        self.register_outputs({"cluster_id": self.cluster_id, "lustre_id": self.lustre_id})

    def _group(self, purpose: str, args: SecurityGroupsArgs, description: str) -> aws.ec2.SecurityGroup:
        return aws.ec2.SecurityGroup(
            f"{self._name}-{purpose}",
            vpc_id=args.vpc_id,
            description=description,
            # The rules refer to each other's group; without this, deleting them deadlocks.
            revoke_rules_on_delete=True,
            tags={"Name": f"{self._name}-{purpose}"},
            opts=self._child,
        )

    def _allow(
        self,
        name: str,
        protocol: str,
        ports: tuple[int, int] | None,
        *,
        source: aws.ec2.SecurityGroup,
        target: aws.ec2.SecurityGroup,
    ) -> None:
        """Let one group reach another: the outbound rule of the source and the inbound rule of the target."""
        first, last = ports or (None, None)
        aws.vpc.SecurityGroupEgressRule(
            f"{self._name}-{name}-out",
            security_group_id=source.id,
            referenced_security_group_id=target.id,
            ip_protocol=protocol,
            from_port=first,
            to_port=last,
            description=f"{name} (outbound)",
            opts=self._child,
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{self._name}-{name}-in",
            security_group_id=target.id,
            referenced_security_group_id=source.id,
            ip_protocol=protocol,
            from_port=first,
            to_port=last,
            description=f"{name} (inbound)",
            opts=self._child,
        )
