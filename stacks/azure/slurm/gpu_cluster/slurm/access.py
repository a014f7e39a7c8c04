"""Who gets into machines: one Linux user with one public SSH key, through Bastion."""

import re
from dataclasses import dataclass

from pulumi_azure_native import compute

from gpu_cluster.config_values import Values

_USER = r"(?!(?:admin|administrator|root|test|user|guest|owner|sys|adm)\d?$)[a-z][a-z0-9_-]{0,31}"
_PUBLIC_KEY = r"(ssh-rsa|ssh-ed25519) [A-Za-z0-9+/]+={0,3}( [^\r\n]*)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The administrator of the machines; Azure asks for a key on Linux."""

    admin_username: str
    admin_ssh_public_key: str


def access(values: Values) -> Access:
    """Read `adminUsername` and `adminSshPublicKey`."""
    user = values.text(
        "adminUsername",
        _USER,
        "a Linux user name that Azure allows (not admin, root, user or the like)",
        "clusteradmin",
    )
    key = str(values.values.get("adminSshPublicKey", "")).strip()
    values.asked.add("adminSshPublicKey")
    if "PRIVATE KEY" in key:
        values.fail("adminSshPublicKey", "holds a private key; take the .pub file, and replace this key pair")
    elif re.fullmatch(_PUBLIC_KEY, key) is None:
        values.fail("adminSshPublicKey", "must be one line `ssh-ed25519 …` or `ssh-rsa …`; Azure asks for one on Linux")
    return Access(admin_username=user, admin_ssh_public_key=key)


def linux_configuration(given: Access) -> compute.LinuxConfigurationArgs:
    """Let in the one public key and no password."""
    return compute.LinuxConfigurationArgs(
        disable_password_authentication=True,
        ssh=compute.SshConfigurationArgs(
            public_keys=[
                compute.SshPublicKeyArgs(
                    path=f"/home/{given.admin_username}/.ssh/authorized_keys", key_data=given.admin_ssh_public_key
                )
            ]
        ),
    )
