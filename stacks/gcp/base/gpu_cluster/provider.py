"""The one provider that everything in a layer is made by, so that nothing depends on a machine's defaults."""

import pulumi
import pulumi_gcp as gcp

from gpu_cluster.place import Place


def gcp_provider(place: Place) -> gcp.Provider:
    """Make the provider for a zone; its labels reach every resource that can carry labels.

    A provider that a program makes itself does not see the stack's `gcp:…` configuration, so what is set there to
    choose identity and billing is handed on. What is not set comes from the environment or from gcloud.
    """
    config = pulumi.Config("gcp")
    return gcp.Provider(
        "gcp",
        project=place.project,
        region=place.region,
        zone=place.zone,
        default_labels=place.labels,
        credentials=config.get_secret("credentials"),
        impersonate_service_account=config.get("impersonateServiceAccount"),
        billing_project=config.get("billingProject"),
        user_project_override=config.get_bool("userProjectOverride"),
    )
