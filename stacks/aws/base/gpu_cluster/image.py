"""Machine images: a fixed image id, or the one that an SSM parameter names when the stack is first deployed."""

import pulumi
import pulumi_aws as aws


def is_pinned(reference: str) -> bool:
    """Tell an image id from the name of an SSM parameter, whose value changes with every release."""
    return reference.startswith("ami-")


def resolve_image(reference: str, provider: aws.Provider) -> pulumi.Output[str]:
    """Turn an image reference into an image id.

    Callers that were given a parameter ignore later changes of the image (see `image_changes_to_ignore`): a new release
    must not replace a running cluster.
    """
    if is_pinned(reference):
        return pulumi.Output.from_input(reference)
    found = aws.ssm.get_parameter_output(name=reference, opts=pulumi.InvokeOptions(provider=provider))
    # The whole answer counts as secret, because the value of a parameter may be; the id of a public image is not, and
    # should show in previews.
    return pulumi.Output.unsecret(found.insecure_value)


def image_changes_to_ignore(reference: str, argument: str) -> list[str]:
    """Name the argument whose later changes are ignored: none for a pinned image, so that a new pin takes effect."""
    return [] if is_pinned(reference) else [argument]
