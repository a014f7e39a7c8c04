"""The monitor is the measure of every stack, so it is held against the engine's rules by programs of its own."""

from pathlib import Path

import pytest

from clusterwright.checks.preflight.records import Record

from .projects import run
from .rules import reference_problems

_HEAD = "import pulumi\nimport pulumi_aws as aws\n"
_PROJECT = (
    "name: probe\nruntime: python\nconfig:\n  size:\n    type: integer\n    default: 3\n  word:\n    type: string\n"
)


@pytest.fixture
def ran(tmp_path: Path):  # noqa: ANN201 - a function
    """Return a function that runs a few lines as a program."""

    def program(lines: str, *, dry_run: bool = False, secret_keys: tuple[str, ...] = (), word: str = "x") -> Record:
        (tmp_path / "Pulumi.yaml").write_text(_PROJECT)
        config = f"  probe:word: {word}\n" if word else "  aws:region: us-east-1\n"
        (tmp_path / "Pulumi.small.yaml").write_text(f"config:\n{config}")
        (tmp_path / "__main__.py").write_text(_HEAD + lines)
        return run(tmp_path, dry_run=dry_run, secret_keys=secret_keys).layers[""]

    return program


def test_urns_leave_the_root_out_and_chain_components(ran) -> None:  # noqa: ANN001
    """A child's URN holds the types of its parents but not that of the stack, as the engine writes it."""
    record = ran(
        "class Box(pulumi.ComponentResource):\n"
        "    def __init__(self, name):\n"
        "        super().__init__('probe:index:Box', name)\n"
        "        aws.sns.Topic('inside', opts=pulumi.ResourceOptions(parent=self))\n"
        "Box('box')\naws.sns.Topic('outside')\n"
    )
    assert {one.urn for one in record.resources} == {
        "urn:pulumi:small::probe::pulumi:pulumi:Stack::probe-small",
        "urn:pulumi:small::probe::probe:index:Box::box",
        "urn:pulumi:small::probe::probe:index:Box$aws:sns/topic:Topic::inside",
        "urn:pulumi:small::probe::aws:sns/topic:Topic::outside",
    }


def test_one_name_twice_is_refused_as_the_engine_does(ran) -> None:  # noqa: ANN001
    """The SDK's mocks accept a name twice; the engine does not."""
    record = ran("aws.sns.Topic('same')\naws.sns.Topic('same')\n")
    assert record.error is not None
    assert "Duplicate resource URN 'urn:pulumi:small::probe::aws:sns/topic:Topic::same'" in record.error


def test_options_and_dependencies_arrive(ran) -> None:  # noqa: ANN001
    """Protection, ignored changes, dependencies of each property, provider and secrets are in the record."""
    record = ran(
        "provider = aws.Provider('here', region='us-east-1')\n"
        "topic = aws.sns.Topic('topic', opts=pulumi.ResourceOptions(provider=provider, protect=True,"
        " retain_on_delete=True, ignore_changes=['name'], delete_before_replace=True,"
        " aliases=[pulumi.Alias(name='old')]))\n"
        "aws.sns.TopicSubscription('mail', topic=topic.arn, protocol='email', endpoint=pulumi.Output.secret('me'))\n"
    )
    topic, mail = record.of("aws:sns/topic:Topic")[0], record.of("aws:sns/topicSubscription:TopicSubscription")[0]
    assert topic.protect
    assert topic.retain_on_delete
    assert topic.delete_before_replace
    assert topic.ignore_changes == ("name",)
    assert "old" in topic.aliases[0]
    assert topic.provider.startswith("urn:pulumi:small::probe::pulumi:providers:aws::here::")
    assert mail.property_dependencies["topic"] == (topic.urn,)
    assert mail.inputs["endpoint"] == {"$secret": "me"}
    assert mail.inputs["topic"] == "arn:aws:sns:us-east-1:123456789012:topic/topic"


def test_a_preview_knows_no_outputs(ran) -> None:  # noqa: ANN001
    """What a resource will be called by the cloud is unknown in a preview, and functions of it do not run."""
    record = ran(
        "topic = aws.sns.Topic('topic')\n"
        "seen = topic.arn.apply(lambda arn: pulumi.log.warn('ran') or arn)\n"
        "aws.sns.TopicSubscription('mail', topic=seen, protocol='email', endpoint='me')\n",
        dry_run=True,
    )
    assert record.of("aws:sns/topicSubscription:TopicSubscription")[0].inputs["topic"] == {"$unknown": True}
    assert record.logs == ()


def test_configuration_comes_with_defaults_and_secrets(ran) -> None:  # noqa: ANN001
    """Defaults of Pulumi.yaml are filled in, and a key that was set as a secret stays one."""
    record = ran(
        "config = pulumi.Config()\npulumi.export('size', config.require_int('size'))\n"
        "pulumi.export('word', config.require_secret('word'))\n",
        secret_keys=("probe:word",),
    )
    assert record.outputs == {"size": 3, "word": {"$secret": "x"}}


def test_a_key_without_value_or_default_is_refused_as_the_engine_does(ran) -> None:  # noqa: ANN001
    """The engine stops before the program starts."""
    record = ran("raise SystemExit('started')\n", word="")
    assert record.error == "Stack 'small' is missing configuration value 'word'"


def test_what_is_not_modelled_is_refused_loudly(ran) -> None:  # noqa: ANN001
    """A program that needs a transform fails here instead of running without it."""
    record = ran("pulumi.runtime.register_resource_transform(lambda args: None)\naws.sns.Topic('topic')\n")
    assert record.error is not None
    assert "transform" in record.error


def test_the_program_dies_of_its_own_error(ran) -> None:  # noqa: ANN001
    """An error of the program is the record's error, by its type and message."""
    assert ran("raise pulumi.RunError('no such zone')\n").error == "RunError: no such zone"


_READER = """
import pulumi
from shared import word
below = pulumi.StackReference("below", stack_name="organization/probe-foundation/small")
pulumi.export("plain", below.get_output("plain"))
pulumi.export("hidden", below.require_output("hidden"))
pulumi.export("missing", below.get_output("missing"))
pulumi.export("word", word)
pulumi.export("seen", below.get_output("plain").apply(lambda value: pulumi.log.info("ran") or value))
"""


@pytest.fixture
def layered(tmp_path: Path) -> Path:
    """Write a project of two layers; the second reads the first by reference, and both use one package."""
    programs = {
        "foundation": "import pulumi\nimport pulumi_aws as aws\n"
        "pulumi.export('plain', aws.sns.Topic('topic').arn)\npulumi.export('hidden', pulumi.Output.secret('inside'))\n",
        "cluster": _READER,
    }
    for layer, program in programs.items():
        (tmp_path / layer).mkdir()
        (tmp_path / layer / "Pulumi.yaml").write_text(f"name: probe-{layer}\nruntime: python\nconfig: {{}}\n")
        (tmp_path / layer / "Pulumi.small.yaml").write_text("config: {}\n")
        (tmp_path / layer / "__main__.py").write_text(program)
    (tmp_path / "shared.py").write_text("word = 'of the project'\n")
    return tmp_path


def test_a_layer_reads_what_an_earlier_one_exported(layered: Path) -> None:
    """Values arrive, secrets stay secret, and every output that was asked for is written down."""
    record = run(layered).layers["cluster"]
    topic = "arn:aws:sns:us-east-1:123456789012:topic/topic"
    assert record.error is None
    assert record.outputs["plain"] == topic
    assert record.outputs["hidden"] == {"$secret": "inside"}
    assert record.outputs.get("missing") is None
    assert record.outputs["word"] == "of the project"
    assert record.outputs["seen"] == topic
    stack = "organization/probe-foundation/small"
    assert record.reads == ((stack, "hidden"), (stack, "missing"), (stack, "plain"), (stack, "plain"))
    assert record.cloud_resources == ()
    assert [one.read_id for one in record.resources if one.type == "pulumi:pulumi:StackReference"] == [stack]


def test_in_a_preview_the_outputs_of_earlier_layers_are_unknown(layered: Path) -> None:
    """Nothing is deployed yet, so functions of such an output do not run."""
    record = run(layered, dry_run=True).layers["cluster"]
    assert record.error is None
    assert record.outputs["plain"] == {"$unknown": True}
    assert record.logs == ()


def test_a_stack_that_nobody_deployed_is_refused_as_the_engine_does(layered: Path) -> None:
    """A layer that runs by itself, without the ones below it, stops."""
    record = run(layered, layers=["cluster"]).layers["cluster"]
    assert record.error is not None
    assert 'unknown stack "organization/probe-foundation/small"' in record.error


def test_a_failing_layer_is_the_last(layered: Path) -> None:
    """The layers above a failed one do not run."""
    (layered / "foundation" / "__main__.py").write_text("raise SystemExit('enough')\n")
    assert {layer: record.error for layer, record in run(layered).layers.items()} == {
        "foundation": "SystemExit: enough"
    }


def test_missing_outputs_and_unused_references_are_findings(layered: Path) -> None:
    """`get_output` of a name that nobody exports is None to the program; here it is a finding."""
    found = [str(one) for one in reference_problems(run(layered), "small")]
    assert found == ["REF001 cluster: reads missing, which organization/probe-foundation/small does not export"]
    (layered / "cluster" / "__main__.py").write_text(_READER.split("pulumi.export", maxsplit=1)[0])
    found = [str(one) for one in reference_problems(run(layered), "small")]
    assert found == ["REF002 below: cluster reads nothing of organization/probe-foundation/small"]
    (layered / "cluster" / "__main__.py").write_text("")
    assert [one.id for one in reference_problems(run(layered), "small")] == ["REF003"]


def test_look_ups_are_answered_in_the_shapes_of_the_sdk(ran) -> None:  # noqa: ANN001
    """What exists already answers with what was asked for, and with examples of the rest."""
    record = ran(
        "topic = aws.sns.get_topic(name='theirs')\npulumi.export('topic', [topic.name, topic.arn, topic.tags])\n"
        "bucket = aws.s3.Bucket.get('theirs', 'their-bucket')\npulumi.export('bucket', bucket.arn)\n"
    )
    assert record.error is None
    assert record.outputs["topic"] == ["theirs", "getTopic-arn", {}]
    assert record.outputs["bucket"] == "theirs-arn"
    assert record.cloud_resources == ()
