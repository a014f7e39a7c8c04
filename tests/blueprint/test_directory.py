"""A directory of a blueprint: what LDAP, SSSD and sudo take, refused where it is written."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.planning import plan_of
from clusterwright.directory_settings import Directory, directory_faults, settings_text
from clusterwright.plan.document import dumps, loads

BLUEPRINT = """\
name: small
workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}
targets:
  gcp: {instance: a3-megagpu-8g, region: us-central1}
cluster:
"""
DIRECTORY = "  directory: {uris: [ldaps://ldap1.example.com], base: 'dc=example,dc=com', allowed_groups: [hpc-users]}\n"
NODE_SCRIPT = Path(__file__).parents[2] / "templates" / "node" / "users_directory.sh"
GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


def problems(tmp_path: Path, cluster: str, blueprint: str = BLUEPRINT) -> str:
    """Return what is said of a blueprint whose section `cluster` is this text; nothing of one that is fine."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(blueprint + cluster)
    try:
        loaded = load(path)
    except BlueprintError as error:
        return error.render()
    found = resolve(loaded.blueprint, load_catalogue())
    return "" if isinstance(found, Resolved) else loaded.error(found).render()


def directory(**fields: object) -> Directory:
    """Return a directory that is fine but for what is given."""
    usual: dict[str, object] = {
        "uris": ("ldaps://ldap1.example.com",),
        "base": "dc=example,dc=com",
        "allowed_groups": ("hpc-users",),
    }
    return Directory(**(usual | fields))  # type: ignore[arg-type]


def test_a_directory_is_taken_alone_and_with_the_identity_that_says_so(tmp_path: Path) -> None:
    """The section is enough; `identity: directory` beside it says the same."""
    assert problems(tmp_path, DIRECTORY) == ""
    assert problems(tmp_path, f"{DIRECTORY}  identity: directory\n") == ""


@pytest.mark.parametrize(
    ("uris", "start_tls"),
    [
        (("ldap://ldap1.example.com",), False),
        (("ldaps://ldap1.example.com", "ldap://ldap2.example.com"), False),
        (("ldaps://ldap1.example.com",), True),
        (("ldaps://a b",), False),
        (("ldaps://a\n",), False),
        (("ldaps://a\x1b[31m",), False),
        (("ldaps://a;reboot",), False),
        (("ldaps://$(id)",), False),
        (("ldaps://a/dc=example",), False),
        (("ldaps://root:secret@a",), False),
        (("ldaps://a:99999",), False),
        (("ldapi:///",), False),
        (("https://a",), False),
        (("",), False),
        ((), False),
        (("ldaps://a", "ldaps://a"), False),
    ],
)
def test_servers_that_would_be_asked_in_plain_text_or_are_none_are_refused(
    uris: tuple[str, ...], *, start_tls: bool
) -> None:
    """No name or password crosses the network unencrypted, and nothing but a server's address gets into a file."""
    assert {one.id for one in directory_faults(directory(uris=uris, start_tls=start_tls))} == {"DIR001"}


@pytest.mark.parametrize(
    ("uris", "start_tls", "ports"),
    [
        (("ldaps://ldap1.example.com/",), False, (636,)),
        (("ldap://a",), True, (389,)),
        (("ldaps://10.8.0.4:3269", "ldaps://b"), False, (636, 3269)),
    ],
)
def test_ordinary_servers_are_taken(uris: tuple[str, ...], ports: tuple[int, ...], *, start_tls: bool) -> None:
    """LDAPS on its own port or another one, and LDAP with StartTLS; firewalls get the ports."""
    given_ = directory(uris=uris, start_tls=start_tls)
    assert directory_faults(given_) == []
    assert given_.ports() == ports


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"base": ""}, "DIR002"),
        ({"base": "example.com"}, "DIR002"),
        ({"base": "dc=example,dc=com\nldap_tls_reqcert = never"}, "DIR002"),
        ({"base": "dc=exa`id`"}, "DIR002"),
        ({"bind_dn": "cn=a,dc=b\r"}, "DIR002"),
        ({"bind_dn": "cluster"}, "DIR002"),
        ({"allowed_groups": ("domain users",)}, "DIR003"),
        ({"allowed_groups": ("a,b",)}, "DIR003"),
        ({"allowed_groups": ("%sudo",)}, "DIR003"),
        ({"allowed_groups": ("ALL ALL=(ALL) ALL",)}, "DIR003"),
        ({"allowed_groups": ("hpc", "hpc")}, "DIR003"),
        ({"administrators": "sudo"}, "DIR003"),
        ({"administrators": "Docker"}, "DIR003"),
        ({"allowed_groups": ()}, "DIR004"),
        ({"ca_certificate": "ca.pem"}, "DIR005"),
        ({"ca_certificate": "-----BEGIN PRIVATE KEY-----"}, "DIR005"),
        ({"ca_certificate": "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n"}, "DIR005"),
        ({"networks": ("10.8.0.1/24",)}, "DIR006"),
        ({"networks": ("0.0.0.0/0",)}, "DIR006"),
        ({"networks": ("ldap1",)}, "DIR006"),
        ({"first_id": 500}, "DIR007"),
        ({"first_id": 60000, "last_id": 50000}, "DIR007"),
    ],
)
def test_what_would_get_into_files_of_root_is_refused(fields: dict[str, object], rule: str) -> None:
    """Line breaks, metacharacters and names of root's own groups reach neither sssd.conf nor sudo."""
    assert [one.id for one in directory_faults(directory(**fields))] == [rule]


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_text_without_faults_is_what_machines_read(uri: str, base: str, group: str) -> None:
    """Whatever is written: either it is refused, or its lines are those that the script of the machines takes."""
    for one in (directory(uris=(uri,)), directory(base=base, bind_dn=base), directory(allowed_groups=(group,))):
        if not directory_faults(one):
            _check_lines(settings_text(one))


def _check_lines(text: str) -> None:
    script = NODE_SCRIPT.read_text()
    parts = dict(re.findall(r"(host|group|dn)='([^']*)'", script))
    line = re.search(r'(?m)^line="(.*)"$', script)
    assert line
    pattern = re.sub(r"\$(\w+)", lambda match: parts[match[1]], line[1])
    assert all(re.fullmatch(pattern, one) for one in text.splitlines())


def test_a_full_directory_is_written_in_lines_that_machines_take() -> None:
    """Every setting has its line; numbers of Active Directory start where SSSD computes them."""
    text = settings_text(
        directory(bind_dn="cn=c,dc=example,dc=com", administrators="hpc-admins", passwords=True, layout="ad")
    )
    _check_lines(text)
    assert text.splitlines() == [
        "uri ldaps://ldap1.example.com",
        "base dc=example,dc=com",
        "layout ad",
        "start_tls no",
        "bind_dn cn=c,dc=example,dc=com",
        "allow hpc-users",
        "administrators hpc-admins",
        "passwords yes",
        "ids 200000 2000200000",
    ]


def test_a_blueprint_says_where_the_mistake_is(tmp_path: Path) -> None:
    """Every mistake is shown at once with id, line, caret and what to do, a local number of the directory's too."""
    said = problems(
        tmp_path,
        "  directory:\n"
        "    uris: [ldap://ldap1.example.com]\n"
        "    base: example.com\n"
        "    allowed_groups: []\n"
        "  groups: [{name: research, gid: 2100}]\n"
        "  users: [{name: eve, uid: 20003, ssh_keys: []}]\n",
    )
    for expected in (
        "error[DIR001]: 'ldap://ldap1.example.com' would send names and passwords over the network in plain text",
        "blueprint.yaml:7:12",
        "error[DIR002]: 'example.com' is not a distinguished name",
        "blueprint.yaml:8:11",
        "error[DIR004]: no group of the directory may log in",
        "error[DIR008]: 20003 may be the number of somebody in the directory",
        "blueprint.yaml:11:28",
    ):
        assert expected in said
    assert said.count("help:") == said.count("error[") == 4
    assert "    ^" in said


def test_local_groups_of_the_directorys_name_are_refused(tmp_path: Path) -> None:
    """Machines ask their own groups first, so that nobody of the directory would be in it."""
    assert "error[DIR008]: hpc-users is a group of the directory" in problems(
        tmp_path, f"{DIRECTORY}  groups: [{{name: hpc-users, gid: 2100}}]\n"
    )


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("DIR010", "directory: {base: 'dc=a'}"),
        ("DIR011", "directory: {uris: ldaps://a, base: 'dc=a', allowed_groups: [a]}"),
        ("DIR011", "directory: {uris: [ldaps://a], base: 'dc=a', allowed_groups: [a], layout: nis}"),
        ("DIR011", "directory: ldaps://a"),
        ("DIR012", "directory: {uris: [ldaps://a], base: 'dc=a', allowed_groups: [a], password: secret}"),
    ],
)
def test_mistakes_of_form_have_an_id(tmp_path: Path, rule: str, wrong: str) -> None:
    """A missing key, a value of another type, and a key that is none: a password above all."""
    said = problems(tmp_path, f"  {wrong}\n")
    assert f"error[{rule}]: " in said
    assert "blueprint.yaml:6:" in said
    assert "help: " in said


def test_mistakes_are_reported_with_those_of_other_sections(tmp_path: Path) -> None:
    """A blueprint that cannot be read elsewhere shows what is wrong with its directory at the same time."""
    said = problems(tmp_path, f"{DIRECTORY.replace('ldaps', 'ldap')}  partition: 7\n")
    assert "error[DIR001]: " in said
    assert "cluster.partition" in said


def test_a_firewall_that_lets_out_what_is_named_alone_needs_the_networks(tmp_path: Path) -> None:
    """On AWS no directory would answer without them; where pods run, nothing asks one."""
    aws = BLUEPRINT.replace(
        "gcp: {instance: a3-megagpu-8g, region: us-central1", "aws: {instance: p5.48xlarge, region: us-east-1"
    )
    assert "error[DIR009]: machines on aws reach HTTPS and HTTP alone" in problems(tmp_path, DIRECTORY, aws)
    named = DIRECTORY.replace("base:", "networks: [10.8.0.0/24], base:")
    assert problems(tmp_path, named, aws) == ""
    assert problems(tmp_path, DIRECTORY, aws.replace("us-east-1}", "us-east-1, scheduler: kubernetes}")) == ""


def test_tenants_may_name_users_of_the_directory(tmp_path: Path) -> None:
    """Slurm's accounts take any user's name then; an account of the machines stays refused."""
    tenants = "tenants: [{name: research, share: 40 %, users: [ada, root]}]\n"
    said = problems(tmp_path, f"{DIRECTORY}{tenants}")
    assert "'root' is not one of cluster.users" in said
    assert "'ada'" not in said


def test_the_plan_holds_the_directory_and_reads_it_back() -> None:
    """`plan.json` has the settings, and where accounts come from; a plan without one says so."""
    plan = plan_of(GPT3, [f"cluster.{DIRECTORY.strip().replace(': {', '={', 1)}"], "onprem")
    assert plan.cluster.directory == directory()
    assert plan.cluster.identity == "directory"
    assert loads(dumps(plan)).cluster.directory == directory()
    assert plan_of(GPT3, [], "onprem").cluster.directory is None
