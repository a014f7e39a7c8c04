"""Requests that are not answered: a status of HTTP and a sentence."""

from typing import Any

#: Of HTTP (RFC 9110).
BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TIMEOUT, TOO_LARGE, UNSUPPORTED, UNPROCESSABLE, BUSY, FAULT = (
    400,
    401,
    403,
    404,
    408,
    413,
    415,
    422,
    503,
    500,
)


class RefusalError(Exception):
    """A request is not answered.

    Attributes:
        status: of HTTP; message: a sentence for people; help: what to do, empty if nothing.
        problems: of the blueprint, each with its path.
    """

    def __init__(
        self,
        status: int,
        message: str,
        help: str = "",  # noqa: A002 - the word users see
        problems: tuple[dict[str, Any], ...] = (),
    ) -> None:
        super().__init__(status, message, help, problems)
        self.status = status
        self.message = message
        self.help = help
        self.problems = problems

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as JSON holds it."""
        return {"schema": 1, "error": self.message, "help": self.help, "problems": list(self.problems)}


class LostError(RefusalError):
    """A request is not answered, and the process that was to answer it is of no more use."""
