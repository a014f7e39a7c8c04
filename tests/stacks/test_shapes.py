"""Shapes read from the SDKs' source say what the SDKs say, in places where people are caught out."""

import pytest

from clusterwright.checks.preflight.recorder.shapes import (
    AnyOf,
    EnumShape,
    Items,
    Nested,
    ObjectShape,
    Scalar,
    described,
)
from clusterwright.checks.preflight.records import Resource

from .inputs import resource_findings
from .proof import sdk

_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_GROUP = "aws:ec2/placementGroup:PlacementGroup"
_SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"


def registered(type_: str, **inputs: object) -> Resource:
    """Return a bare registration."""
    return Resource(
        urn=f"urn:pulumi:s::p::{type_}::one",
        type=type_,
        name="one",
        custom=True,
        parent="",
        provider="",
        protect=False,
        retain_on_delete=False,
        delete_before_replace=False,
        dependencies=(),
        property_dependencies={},
        aliases=(),
        ignore_changes=(),
        replace_on_changes=(),
        additional_secret_outputs=(),
        version="",
        inputs=inputs,
    )


def said(type_: str, **inputs: object) -> list[str]:
    """Return path and message of every finding."""
    return [f"{one.path}: {one.message}" for one in resource_findings(registered(type_, **inputs), sdk())]


@pytest.mark.parametrize(
    ("type_", "property_", "shape", "required"),
    [
        # A subnet of FSx is one text, whatever its name says; sizes of Managed Lustre are texts too.
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "subnetIds", Scalar(kind="str"), True),
        ("gcp:lustre/instance:Instance", "capacityGib", Scalar(kind="str"), True),
        ("azure-native:storagecache:AmlFilesystem", "storageCapacityTiB", Scalar(kind="float"), True),
        ("aws:autoscaling/group:Group", "minSize", Scalar(kind="int"), True),
        ("aws:autoscaling/group:Group", "vpcZoneIdentifiers", Items(item=Scalar(kind="str")), False),
        ("azure-native:compute:VirtualMachineScaleSet", "resourceGroupName", Scalar(kind="str"), True),
    ],
)
def test_properties_have_the_type_that_the_sdk_declares(
    type_: str, property_: str, shape: object, *, required: bool
) -> None:
    """Name in the provider's spelling, type, and whether it must be given."""
    known = sdk().inputs(type_).properties[property_]
    assert (known.shape, known.required) == (shape, required)


def test_nested_types_and_enumerations_are_found() -> None:
    """Objects inside objects, and the values of an enumeration, come from the same source."""
    interfaces = sdk().inputs(_TEMPLATE).properties["networkInterfaces"].shape
    assert isinstance(interfaces, Items)
    assert isinstance(interfaces.item, Nested)
    interface = described(interfaces.item)
    assert isinstance(interface, ObjectShape)
    # EC2's truth values are texts here.
    assert interface.properties["deleteOnTermination"].shape == Scalar(kind="str")
    strategy = sdk().inputs(_GROUP).properties["strategy"].shape
    assert isinstance(strategy, AnyOf)
    enum = described(next(one for one in strategy.options if isinstance(one, Nested)))
    assert enum == EnumShape(name="PlacementStrategy", values=("spread", "cluster"))


def test_every_kind_of_wrong_input_is_found_at_any_depth() -> None:
    """Unknown names, wrong types, values that nobody lists, and what is missing, each with its path."""
    assert said(_GROUP, strategy="cluster") == []
    assert said(_GROUP) == ["strategy: is required by PlacementGroupArgs"]
    assert said(_GROUP, strategy="clstr") == ["strategy: 'clstr' is none of PlacementStrategy: spread, cluster"]
    assert said(_TEMPLATE, networkInterfaces=[{"deviceIdx": 1}]) == [
        "networkInterfaces[0].deviceIdx: is not a property of LaunchTemplateNetworkInterfaceArgs"
    ]
    assert said(_TEMPLATE, networkInterfaces={"deviceIndex": 1})[0].startswith("networkInterfaces: needs a list")
    assert said(_TEMPLATE, blockDeviceMappings=[{"ebs": {"volumeSize": "200"}}]) == [
        "blockDeviceMappings[0].ebs.volumeSize: needs a whole number, got '200'"
    ]
    assert said(_TEMPLATE, updateDefaultVersion=1) == ["updateDefaultVersion: needs true or false, got 1"]
    assert said(_TEMPLATE, tags={"a": 1}) == ["tags.a: needs text, got 1"]
    assert said(_SCALE_SET, resourceGroupName="g", sku={"capacity": True}) == ["sku.capacity: needs a number, got True"]
    assert said("aws:ec2/nothing:Nothing")[0].endswith("no such type in the installed SDK: aws:ec2/nothing:Nothing")


def test_what_is_not_known_yet_or_secret_is_accepted_for_its_inside() -> None:
    """An unknown fits everywhere; a secret is held to the type of what is inside."""
    unknown, secret = {"$unknown": True}, {"$secret": "cluster"}
    assert said(_GROUP, strategy=unknown) == []
    assert said(_GROUP, strategy=secret) == []
    assert said(_GROUP, strategy={"$secret": "clstr"}) != []


def test_secret_properties_are_those_that_the_sdk_hides() -> None:
    """The SDK wraps some inputs by itself; a stack that sets one holds a secret in its state."""
    assert sdk().secret_inputs("aws:secretsmanager/secretVersion:SecretVersion") >= {"secret_string", "secret_binary"}
    assert sdk().secret_inputs(_TEMPLATE) == frozenset()
