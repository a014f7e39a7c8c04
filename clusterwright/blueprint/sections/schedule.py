"""When each of several workloads that share a cluster has its nodes."""

from typing import Annotated, Literal

from pydantic import Field

from clusterwright.blueprint.fields import ClusterName, Section

_Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DAYS: tuple[_Day, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
HOURS_A_DAY, HOURS_A_WEEK = 24, 168
#: Workloads of a file.
LEAST_SHARED, MOST_SHARED = 2, 8


class Hours(Section):
    """Hours of the week in which a run has its nodes; one run starts in each of them."""

    days: Annotated[
        list[_Day],
        Field(min_length=1, max_length=7),
    ] = Field(list(DAYS), description="on which the hours begin; every day by default")
    start: Annotated[int, Field(ge=0, le=23)] = Field(0, description="hour of the day at which they begin, 0 to 23")
    hours: Annotated[int, Field(ge=1, le=HOURS_A_WEEK)] = Field(description="whole hours that they last")

    @property
    def starts(self) -> tuple[int, ...]:
        """Hours of the week, from Monday 00:00, at which they begin."""
        return tuple(sorted(HOURS_A_DAY * DAYS.index(day) + self.start for day in set(self.days)))

    @property
    def claimed(self) -> frozenset[int]:
        """Every hour of the week that is claimed."""
        return frozenset((start + hour) % HOURS_A_WEEK for start in self.starts for hour in range(self.hours))


class Schedule(Section):
    """When one of several workloads has its nodes."""

    name: ClusterName = Field(description="short name of this workload, for example chat")
    from_month: Annotated[float, Field(ge=0, le=240)] = Field(
        0.0, description="month of the horizon in which it begins, 0 for the first day"
    )
    runs: Annotated[float, Field(ge=0.001, le=1_000_000)] | None = Field(
        None, description="train and finetune: runs, one after another; 1 by default; or hours"
    )
    hours: Hours | None = Field(None, description="train and finetune: hours of every week, a run in each; or runs")
