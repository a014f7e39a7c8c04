"""Users of a directory on machines made of namespaces: OpenLDAP with TLS, SSSD, and the commands of `users.md`."""

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.onprem.slurm.jobs import DIRECTORY_PATH, PASSWORD_PATH, job_documents, user_documents

from .first_job.machines import Machine, Site, namespaces_work

pytestmark = pytest.mark.engine

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
SERVER, SERVER_ADDRESS = "ldap1.example.com", "10.43.0.9"
BASE, BIND_DN = "dc=example,dc=com", "cn=cluster,dc=example,dc=com"
PASSWORD = "correct horse #% battery"  # noqa: S105 - of a directory that ends with the test
ROLES = {"mgmt-001": "controller", "mgmt-003": "login", "node001": "compute"}
#: Packages are this host's own, and half an hour of patience is for clouds.
SETTINGS = "printf 'CLUSTER_WAIT_S=5\\nCLUSTER_SKIP_PACKAGES=1\\n' >>/etc/gpu-cluster/node.env"
LOCAL = "{name: eve, uid: 2003, ssh_keys: [], administrator: true}"

SLAPD = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
attributetype ( 1.3.6.1.4.1.24552.500.1.1.1.13 NAME 'sshPublicKey'
  EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
objectclass ( 1.3.6.1.4.1.24552.500.1.1.2.0 NAME 'ldapPublicKey' SUP top AUXILIARY MAY ( sshPublicKey $ uid ) )
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile /srv/slapd.pid
TLSCACertificateFile /srv/site/ca.pem
TLSCertificateFile /srv/site/server.pem
TLSCertificateKeyFile /srv/site/server.key
# Nothing is answered in plain text, nor without the cluster's account.
security simple_bind=128
disallow bind_anon
database mdb
suffix "{base}"
rootdn "cn=root,{base}"
directory /srv/ldap
access to attrs=userPassword by anonymous auth by * none
access to * by dn="{bind_dn}" read by * none
"""
PEOPLE = f"""\
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: {BIND_DN}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: cluster
userPassword: {PASSWORD}

dn: uid=ada,{BASE}
objectClass: account
objectClass: posixAccount
objectClass: ldapPublicKey
uid: ada
cn: Ada
uidNumber: 20001
gidNumber: 20100
homeDirectory: /home/elsewhere/ada
loginShell: /bin/zsh
userPassword: ada's own
sshPublicKey: PUBLIC KEY

dn: uid=mallory,{BASE}
objectClass: account
objectClass: posixAccount
uid: mallory
cn: Mallory
uidNumber: 20002
gidNumber: 20102
homeDirectory: /home/elsewhere/mallory
userPassword: mallory's own

dn: uid=grace,{BASE}
objectClass: account
objectClass: posixAccount
uid: grace
cn: Grace
uidNumber: 20003
gidNumber: 20101
homeDirectory: /home/elsewhere/grace

dn: uid=imposter,{BASE}
objectClass: account
objectClass: posixAccount
uid: imposter
cn: with the number of a service
uidNumber: 997
gidNumber: 20100
homeDirectory: /home/elsewhere/imposter

dn: uid=eve,{BASE}
objectClass: account
objectClass: posixAccount
uid: eve
cn: with the name of a local user
uidNumber: 20009
gidNumber: 20100
homeDirectory: /home/elsewhere/eve

dn: cn=hpc-users,{BASE}
objectClass: posixGroup
cn: hpc-users
gidNumber: 20100
memberUid: ada

dn: cn=hpc-admins,{BASE}
objectClass: posixGroup
cn: hpc-admins
gidNumber: 20101
memberUid: grace

dn: cn=others,{BASE}
objectClass: posixGroup
cn: others
gidNumber: 20102
memberUid: mallory
"""


def _certificates(folder: Path) -> None:
    """Make an authority, a server's certificate that it signed, another authority that signed nothing, a user's key."""
    signed = "-CA ca.pem -CAkey ca.key"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {0}.key -out {0}.pem -subj /CN={0}"
    script = "\n".join(
        (
            make.format("ca"),
            make.format("other"),
            f"openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN={SERVER}",
            f"printf 'subjectAltName=DNS:{SERVER}' >names",
            f"openssl x509 -req -in server.csr {signed} -CAcreateserial -days 2 -extfile names -out server.pem",
            "ssh-keygen -q -t ed25519 -N '' -f user.key",
        )
    )
    subprocess.run(["sh", "-e", "-c", script], cwd=folder, check=True, capture_output=True)


def _folder(place: Path, name: str, **more: object) -> Path:
    """Write the plan's folder below the place, as far as users concern it; `more` differs from the usual directory."""
    directory: dict[str, object] = {
        "uris": [f"ldaps://{SERVER}"],
        "base": BASE,
        "layout": "rfc2307",
        "bind_dn": BIND_DN,
        "allowed_groups": ["hpc-users"],
        "administrators": "hpc-admins",
        "ca_certificate": (place / "ca.pem").read_text(),
        **more,
    }
    # A text of JSON is one of YAML, with its line ends.
    values = [f"cluster.directory.{key}={json.dumps(value)}" for key, value in directory.items()]
    plan = plan_of(GPT3, [f"cluster.users=[{LOCAL}]", *values], "onprem")
    for path, file in (job_documents(plan, plan.options[0], load()) | user_documents(plan)).items():
        written = place / name / path
        written.parent.mkdir(exist_ok=True, parents=True)
        written.write_bytes(file.content)
    return place / name


def _commands(page: str) -> tuple[str, str]:
    """Return what the page says to do once, and what on every machine."""
    once, everywhere = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].split("# As root on every machine", 1)  # type: ignore[index]
    return once, f"#{everywhere}"


def serve(site: Site) -> Machine:
    """Start the directory's server: over TLS for everybody, and by StartTLS."""
    machine = site.start("ldap1", SERVER_ADDRESS, {})
    key = (site.folder / "site" / "user.key.pub").read_text().strip()
    (site.folder / "site" / "slapd.conf").write_text(SLAPD.format(base=BASE, bind_dn=BIND_DN))
    (site.folder / "site" / "people.ldif").write_text(PEOPLE.replace("PUBLIC KEY", key))
    machine.text("sh", "-e", "-c", "mkdir /srv/ldap && slapadd -f /srv/site/slapd.conf -l /srv/site/people.ldif")
    machine.text("slapd", "-f", "/srv/site/slapd.conf", "-h", "ldaps:/// ldap:///")
    return machine


def join(
    site: Site, host: str, role: str, folder: str = "folder", *, once: bool = False
) -> subprocess.CompletedProcess[str]:
    """Start a machine and do on it what the page of a folder says, with the password typed."""
    number = len(site.machines) + 1
    machine = site.start(host, f"10.43.0.{number + 10}", {})
    machine.text("sh", "-c", "mkdir -p /shared && mount --bind /srv/shared /shared")
    first, everywhere = _commands((site.folder / "site" / folder / "users.md").read_text())
    if once:
        machine.text("sh", "-e", "-c", f"cd /srv/site/{folder}; {first}")
    commands = everywhere.replace("ROLE=compute", f"ROLE={role}")
    commands = commands.replace("bash /opt/gpu-cluster/users.sh", f"{SETTINGS}\nbash /opt/gpu-cluster/users.sh")
    typed = f"{{ {commands}\n}} <<'PASSWORD'\n{PASSWORD}\nPASSWORD\n"
    return machine.run("sh", "-e", "-c", f"cd /srv/site/{folder}; {typed}")


def again(machine: Machine) -> subprocess.CompletedProcess[str]:
    """Run what the timer runs."""
    return machine.run("bash", "/opt/gpu-cluster/users_directory.sh")


def allowed(machine: Machine, user: str) -> bool:
    """Tell whether sshd would let a user in, as PAM and SSSD decide it."""
    said = machine.run("sssctl", "user-checks", user, "--action=acct", "--service=sshd")
    found = re.search("^pam_acct_mgmt: (.*)$", said.stdout + said.stderr, re.M)
    assert found, said.stdout + said.stderr
    return found[1] == "Success"


@pytest.fixture(scope="module")
def site(require_engine: Callable[..., None]) -> Iterator[Site]:
    """Return a server of LDAP, and three machines on which an administrator did what the page says."""
    require_engine("slapd", "slapadd", "sssd", "sssctl", "sshd", "openssl", "ssh-keygen", "unshare", "nsenter", "ip")
    require_engine(working=namespaces_work(), reason="needs root and Linux namespaces with a bridge")
    with tempfile.TemporaryDirectory(prefix="site-") as name:
        place = Path(name)
        place.chmod(0o755)
        for part in ("shared", "site", "files"):
            (place / part).mkdir()
        (place / "shared").chmod(0o1777)
        (place / "files" / "etc").mkdir()
        _certificates(place / "site")
        _folder(place / "site", "folder")
        site = Site(folder=place, hosts={SERVER: SERVER_ADDRESS}, machines={})
        try:
            serve(site)
            for host, role in ROLES.items():
                done = join(site, host, role, once=role == "controller")
                assert done.returncode == 0, done.stderr
            yield site
        finally:
            site.end()


def test_users_of_the_directory_are_the_same_on_every_machine(site: Site) -> None:
    """Number and groups are the directory's, home and shell the cluster's, on controller, login machine and node."""
    for host in ROLES:
        machine = site.machines[host]
        assert machine.text("id", "ada") == "uid=20001(ada) gid=20100(hpc-users) groups=20100(hpc-users)\n"
        entry = machine.text("getent", "passwd", "ada")
        assert entry == "ada:*:20001:20100:Ada:/shared/home/ada:/bin/bash\n"


def test_a_machines_own_accounts_are_never_those_of_the_directory(site: Site) -> None:
    """An entry with a service's number is not known, and one with a local user's name changes nothing of that user."""
    for host in ROLES:
        machine = site.machines[host]
        assert machine.run("id", "imposter").returncode == 1
        assert machine.text("id", "--user", "eve") == "2003\n"
        assert machine.run("getent", "--service=sss", "passwd", "eve").returncode == 2


@pytest.mark.parametrize(
    ("host", "entering"),
    [("mgmt-001", {"grace"}), ("mgmt-003", {"ada", "grace"}), ("node001", set())],
)
def test_the_groups_of_the_settings_alone_get_in(site: Site, host: str, entering: set[str]) -> None:
    """Users get in on the login machine, administrators on the controller too, nobody on nodes, others nowhere."""
    machine = site.machines[host]
    assert {user for user in ("ada", "grace", "mallory") if allowed(machine, user)} == entering
    assert machine.text("id", "--user", "mallory") == "20002\n"


def test_a_user_logs_in_by_the_key_of_the_directory_and_has_a_home_on_shared_storage(site: Site) -> None:
    """OpenSSH asks SSSD for the key; the first login makes the home, closed to others; another's key is refused."""
    login = site.machines["mgmt-003"]
    login.text("sh", "-c", "mkdir -p /run/sshd && /usr/sbin/sshd")
    ssh = "ssh -i /srv/site/{} -o BatchMode=yes -o StrictHostKeyChecking=no {}@localhost 'id --user; pwd'"
    done = login.run("sh", "-c", ssh.format("user.key", "ada"))
    assert done.stdout == "20001\n/shared/home/ada\n", done.stderr
    node = site.machines["node001"]
    assert node.text("stat", "--format=%U %a", "/shared/home/ada", "/shared/home/ada/.bashrc") == "ada 700\nada 600\n"
    for user in ("mallory", "eve", "grace"):
        refused = login.run("sh", "-c", ssh.format("user.key", user))
        assert refused.returncode == 255
        assert "Permission denied" in refused.stderr
    assert node.run("test", "-e", "/shared/home/mallory").returncode == 1


def test_administrators_alone_have_sudo_and_not_on_nodes(site: Site) -> None:
    """The rule of sudo stands on controller and login machine, for the administrators' group of the directory."""
    here = {host: site.machines[host].run("cat", "/etc/sudoers.d/gpu-cluster-directory").stdout for host in ROLES}
    rule = "%hpc-admins ALL=(ALL) NOPASSWD:ALL\n"
    assert here == {"mgmt-001": rule, "mgmt-003": rule, "node001": ""}
    login = site.machines["mgmt-003"]
    assert login.text("runuser", "-u", "grace", "--", "sudo", "--non-interactive", "id", "--user") == "0\n"
    assert login.run("runuser", "-u", "ada", "--", "sudo", "--non-interactive", "true").returncode == 1


def test_the_file_with_the_password_is_roots_and_sssd_finds_no_mistake_in_it(site: Site) -> None:
    """Nobody but root reads sssd.conf, and SSSD's own check knows every setting."""
    for host in ROLES:
        machine = site.machines[host]
        assert machine.text("stat", "--format=%U %a", "/etc/sssd/sssd.conf", PASSWORD_PATH) == "root 600\nroot 600\n"
        assert f"ldap_default_authtok = {PASSWORD}\n" in machine.text("cat", "/etc/sssd/sssd.conf")
        assert machine.text("sssctl", "config-check").startswith("Issues identified by validators: 0\n")


def test_the_same_settings_again_change_nothing(site: Site) -> None:
    """A run with unchanged settings restarts nothing and writes nothing, so that it may run every few minutes."""
    look = (
        "sh",
        "-c",
        "stat --format='%n %Y %i' /etc/sssd/sssd.conf /etc/nsswitch.conf /etc/ssh/sshd_config.d/*; pgrep -x sssd",
    )
    login = site.machines["mgmt-003"]
    before = login.text(*look)
    done = again(login)
    assert (done.returncode, done.stderr) == (0, "")
    assert login.text(*look) == before


def test_changed_settings_are_applied_without_another_boot(site: Site) -> None:
    """Who is allowed changes with the file alone; a group that the directory does not have is said."""
    login = site.machines["mgmt-003"]
    login.text("sed", "-i", "s/^allow hpc-users/allow others\\nallow nobody-has-it/", DIRECTORY_PATH)
    said = again(login)
    now = {user for user in ("ada", "grace", "mallory") if allowed(login, user)}
    login.text("sed", "-i", "s/^allow others/allow hpc-users/; /nobody-has-it/d", DIRECTORY_PATH)
    assert again(login).returncode == 0
    assert said.returncode == 0, said.stderr
    assert "the directory has no group nobody-has-it" in said.stderr
    assert now == {"grace", "mallory"}
    assert allowed(login, "ada")


@pytest.mark.parametrize(
    ("spoil", "repair", "status", "said"),
    [
        (f"sed -i s,ldaps:,ldap:, {DIRECTORY_PATH}", f"sed -i s,ldap:,ldaps:, {DIRECTORY_PATH}", 2, "without StartTLS"),
        (f"echo 'uri ldaps://a$(id)' >>{DIRECTORY_PATH}", f"sed -i '$d' {DIRECTORY_PATH}", 1, "a line that is none"),
        (f"echo 'allow a, *' >>{DIRECTORY_PATH}", f"sed -i '$d' {DIRECTORY_PATH}", 1, "a line that is none"),
        (f"chmod 0666 {DIRECTORY_PATH}", f"chmod 0644 {DIRECTORY_PATH}", 3, "has to belong to root"),
        (f"chmod 0640 {PASSWORD_PATH}", f"chmod 0600 {PASSWORD_PATH}", 3, "has to belong to root, mode 0600"),
        # A controller and a login machine go on as they were: the password may be typed after they have started.
        (f"mv {PASSWORD_PATH} /root/kept", f"mv /root/kept {PASSWORD_PATH}", 0, f"no password of {BIND_DN}"),
    ],
)
def test_settings_that_open_the_directory_are_refused(
    site: Site, spoil: str, repair: str, status: int, said: str
) -> None:
    """Plain text, lines of another form, and files that others write or read: the machine goes on as it was."""
    login = site.machines["mgmt-003"]
    before = login.text("cat", "/etc/sssd/sssd.conf")
    login.text("sh", "-c", spoil)
    refused = again(login)
    login.text("sh", "-c", repair)
    assert refused.returncode == status
    assert said in refused.stderr
    assert login.text("cat", "/etc/sssd/sssd.conf") == before


def test_a_server_whose_certificate_somebody_else_signed_is_refused(site: Site) -> None:
    """With another authority nobody of the directory is known, and the machine says so in the place of joining."""
    place = site.folder / "site"
    _folder(place, "strange", ca_certificate=(place / "other.pem").read_text())
    _own_settings(place, "strange")
    done = join(site, "node002", "compute", "strange")
    assert done.returncode == 1
    assert "the directory with one of its groups (see /var/log/sssd/sssd_cluster.log) did not come up" in done.stderr
    assert site.machines["node002"].run("id", "ada").returncode == 1


def test_a_server_with_starttls_is_asked_for_it(site: Site) -> None:
    """`ldap://` with `start_tls` works: the server refuses to bind anybody before TLS."""
    place = site.folder / "site"
    _folder(place, "starttls", uris=[f"ldap://{SERVER}"], start_tls=True)
    _own_settings(place, "starttls")
    done = join(site, "node003", "compute", "starttls")
    assert done.returncode == 0, done.stderr
    assert site.machines["node003"].text("id", "--user", "ada") == "20001\n"


def test_sssd_knows_every_setting_for_active_directory(site: Site) -> None:
    """There is no Active Directory here: what is written for it passes SSSD's own check of names and sections."""
    place = site.folder / "site"
    _folder(place, "active", layout="ad", administrators=None, passwords=True)
    _own_settings(place, "active")
    join(site, "login2", "login", "active")
    machine = site.machines["login2"]
    assert machine.text("sssctl", "config-check").startswith("Issues identified by validators: 0\n")
    text = machine.text("cat", "/etc/sssd/sssd.conf")
    for line in ("ldap_schema = ad", "ldap_id_mapping = true", "ldap_idmap_range_min = 200000", "min_id = 200000"):
        assert f"\n{line}\n" in text


def _own_settings(place: Path, folder: str) -> None:
    """Let the machines of a folder read their own settings, not those that the others share."""
    path = place / folder / "node" / "node.env"
    own = f"/srv/site/{folder}/node/directory.conf"
    path.write_text(path.read_text().replace(f"CLUSTER_DIRECTORY_ID={DIRECTORY_PATH}", f"CLUSTER_DIRECTORY_ID={own}"))


def test_users_stay_known_while_no_server_answers(site: Site) -> None:
    """A machine knows those whom it has seen, and a local administrator always; the last test, for the server ends."""
    node = site.machines["node001"]
    assert node.text("id", "--user", "ada") == "20001\n"
    site.machines["ldap1"].text("pkill", "-KILL", "slapd")
    assert node.text("id", "--user", "ada") == "20001\n"
    assert node.text("id", "--user", "eve") == "2003\n"
    assert again(node).returncode == 0
