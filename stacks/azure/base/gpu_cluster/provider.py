"""The one provider that everything in this stack is made by, so that nothing depends on a machine's defaults."""

import pulumi
import pulumi_azure_native as azure_native


def azure_provider(location: str) -> azure_native.Provider:
    """Make the provider for a location.

    A provider that a program makes itself does not see the stack's `azure-native:…` configuration, so what is set there
    to choose subscription and identity is handed on. What is not set comes from the environment or the Azure CLI.
    """
    config = pulumi.Config("azure-native")
    return azure_native.Provider(
        "azure",
        location=location,
        environment=config.get("environment"),
        subscription_id=config.get("subscriptionId"),
        tenant_id=config.get("tenantId"),
        client_id=config.get("clientId"),
        client_secret=config.get_secret("clientSecret"),
        use_msi=config.get_bool("useMsi"),
        use_oidc=config.get_bool("useOidc"),
    )
