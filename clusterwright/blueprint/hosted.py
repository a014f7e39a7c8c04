"""What a blueprint says of models that others host, which a service is compared with."""

from typing import Annotated

from pydantic import AfterValidator, Field

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Count, Fraction

_Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(names.plain)]
_Rate = Annotated[Count, Field(gt=0, le=1e12)]


class ApiTarget(Section):
    """Hosted models that answer the same traffic: compared by dollars and limits, never deployed to, never ranked."""

    model: _Name | None = Field(
        None, description="hosted model to compare with, for example gpt-5-mini; by default the workload's own"
    )
    providers: Annotated[list[_Name], Field(min_length=1, max_length=50)] | None = Field(
        None, description="who hosts it, for example [DeepInfra, Together]; by default everybody who is known"
    )
    batch_share: Annotated[Fraction, Field(ge=0, le=1)] = Field(
        0.0, description="share of the requests that may wait for hours, at the price of batches where there is one"
    )
    requests_per_minute: _Rate | None = Field(None, description="limit of your account")
    tokens_per_minute: _Rate | None = Field(None, description="limit of your account, input and output together")
    concurrent_requests: _Rate | None = Field(None, description="limit of your account, requests in flight")
