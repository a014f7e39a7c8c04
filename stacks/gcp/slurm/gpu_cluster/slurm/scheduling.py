"""Scheduling and reservation of a way to buy capacity, as the instance template takes them."""

from pulumi_gcp import compute

from gpu_cluster.capacity import Capacity

RESERVATION_NAME_KEY = "compute.googleapis.com/reservation-name"


def scheduling_for(capacity: Capacity) -> compute.InstanceTemplateSchedulingArgs:
    """Scheduling of a way to buy capacity. GPU machines cannot move, so maintenance always ends them."""
    if capacity.model == "spot":
        return compute.InstanceTemplateSchedulingArgs(
            provisioning_model="SPOT",
            preemptible=True,
            automatic_restart=False,
            instance_termination_action="DELETE",
            on_host_maintenance="TERMINATE",
        )
    if capacity.model == "flex-start":
        return compute.InstanceTemplateSchedulingArgs(
            provisioning_model="FLEX_START",
            automatic_restart=False,
            instance_termination_action="DELETE",
            max_run_duration=compute.InstanceTemplateSchedulingMaxRunDurationArgs(
                seconds=capacity.flex_start_run_s or 0
            ),
            on_host_maintenance="TERMINATE",
        )
    if capacity.model == "reservation" and capacity.reservation_bound:
        return compute.InstanceTemplateSchedulingArgs(
            provisioning_model="RESERVATION_BOUND",
            automatic_restart=True,
            instance_termination_action="DELETE",
            on_host_maintenance="TERMINATE",
        )
    return compute.InstanceTemplateSchedulingArgs(
        provisioning_model="STANDARD", automatic_restart=True, on_host_maintenance="TERMINATE"
    )


def reservation_affinity_for(capacity: Capacity) -> compute.InstanceTemplateReservationAffinityArgs:
    """Take the named reservation or none: an open one would bring a placement that fights the compact policy."""
    if capacity.reservation_id is None:
        return compute.InstanceTemplateReservationAffinityArgs(type="NO_RESERVATION")
    return compute.InstanceTemplateReservationAffinityArgs(
        type="SPECIFIC_RESERVATION",
        specific_reservation=compute.InstanceTemplateReservationAffinitySpecificReservationArgs(
            key=RESERVATION_NAME_KEY, values=[capacity.reservation_id]
        ),
    )
