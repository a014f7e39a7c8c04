"""Where Pulumi keeps the state of a cloud target's stacks."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section

#: Backends as Pulumi names them: a folder, a bucket of each cloud, or Pulumi Cloud (also self-hosted).
_URL = r"(file|s3|azblob|gs|https)://[A-Za-z0-9._~/:?=&%+@-]{1,400}"
_SECRETS = r"default|passphrase|(awskms|azurekeyvault|gcpkms|hashivault)://[A-Za-z0-9._~/:?=&%+@-]{1,400}"
_ORGANIZATION = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"


def _checked(text: str, pattern: str, what: str, example: str) -> str:
    if re.fullmatch(pattern, text) is None:
        raise PydanticCustomError(
            "identifier", "{found} is not {what}", {"found": repr(text), "what": what, "help": f"for example {example}"}
        )
    return text


def _without_login(text: str) -> str:
    # It would be written into every project's files in plain text.
    if re.match(r"[a-z0-9]+://[^/?]*@", text):
        raise PydanticCustomError(
            "identifier",
            "the state backend's address holds a login",
            {"help": "leave out what is before the @: `pulumi login` and the cloud's own login keep it elsewhere"},
        )
    return text


_Url = Annotated[
    str,
    AfterValidator(_without_login),
    AfterValidator(lambda text: _checked(text, _URL, "a state backend's address", "s3://my-state?region=us-east-1")),
    WithJsonSchema({"type": "string", "pattern": f"^{_URL}$", "examples": ["s3://my-state?region=us-east-1"]}),
]
_Secrets = Annotated[
    str,
    AfterValidator(lambda text: _checked(text, _SECRETS, "a secrets provider", "awskms://alias/state, or passphrase")),
    WithJsonSchema({"type": "string", "pattern": f"^({_SECRETS})$", "examples": ["passphrase"]}),
]
_Organization = Annotated[
    str,
    AfterValidator(lambda text: _checked(text, _ORGANIZATION, "an organization's name", "my-company")),
    WithJsonSchema({"type": "string", "pattern": f"^{_ORGANIZATION}$"}),
]


class StackState(Section):
    """Where Pulumi keeps the state of the stacks, and how it encrypts their secrets."""

    url: _Url = Field(
        description="file://, s3://, azblob:// or gs:// address, or https://api.pulumi.com for Pulumi Cloud"
    )
    organization: _Organization | None = Field(
        None, description="organization of Pulumi Cloud, for example my-company; only with https://"
    )
    secrets_provider: _Secrets | None = Field(
        None, description="passphrase, or a key such as awskms://alias/state; the backend's own by default"
    )

    @model_validator(mode="after")
    def _organization_fits(self) -> "StackState":
        cloud = self.url.startswith("https://")
        if cloud and self.organization is None:
            raise PydanticCustomError(
                "choice",
                "organization is missing: the layers refer to each other through it",
                {"help": "add organization: the one that owns the stacks in Pulumi Cloud"},
            )
        if not cloud and self.organization is not None:
            raise PydanticCustomError(
                "choice",
                "an organization is named, but {url} is not Pulumi Cloud",
                {"url": self.url, "help": "remove organization; other backends have none"},
            )
        return self
