"""User data of a machine, once everything that it names exists."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpu_cluster.node_type import NodeType
from gpu_cluster.place import Place
from gpu_cluster.slurm.user_data import NO_DATABASE, Database, NodeEnvironment, render_user_data


@dataclass(frozen=True, kw_only=True, slots=True)
class BootValues:
    """What all machines of the cluster are told."""

    place: Place
    node_type: NodeType
    partition: str
    shared_path: str
    controller_address: pulumi.Input[str]
    secret_id: pulumi.Input[str]
    users_id: pulumi.Input[str]
    shared_source: pulumi.Input[str]
    bucket_name: pulumi.Input[str]
    data_identity: pulumi.Input[str]
    job_environment: str
    directory_places: pulumi.Input[str] = ""


def user_data(
    values: BootValues,
    role: str,
    scripts: Mapping[str, str],
    *,
    database: pulumi.Input[Database] = NO_DATABASE,
    spot: bool = False,
    busy_metric: bool = False,
) -> pulumi.Output[str]:
    """User data of a role; the database is told to the machines that use it."""

    def render(
        *,
        controller_address: str,
        secret_id: str,
        users_id: str,
        directory_places: str,
        shared_source: str,
        bucket_name: str,
        data_identity: str,
        database: Database,
    ) -> str:
        environment = NodeEnvironment(
            role=role,
            cluster_name=values.place.cluster_name,
            partition=values.partition,
            controller_address=controller_address,
            region=values.place.region,
            secret_id=secret_id,
            users_id=users_id,
            directory_places=directory_places,
            node_type=values.node_type,
            shared_source=shared_source,
            shared_path=values.shared_path,
            bucket=f"gs://{bucket_name}",
            # Nobody works on the controller.
            data_identity="" if role == "controller" else data_identity,
            # The login machine only has to know that there is one.
            database=database if role == "controller" else Database(host=database.host),
            spot=spot,
            busy_metric=busy_metric,
            job_environment=values.job_environment,
        )
        return render_user_data(environment, scripts)

    return pulumi.Output.all(
        controller_address=values.controller_address,
        secret_id=values.secret_id,
        users_id=values.users_id,
        directory_places=values.directory_places,
        shared_source=values.shared_source,
        bucket_name=values.bucket_name,
        data_identity=values.data_identity,
        database=database,
    ).apply(lambda known: render(**known))
