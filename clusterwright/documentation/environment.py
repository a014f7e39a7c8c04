"""The page of environment variables that Clusterwright reads."""

from clusterwright.cli.web import TOKEN
from clusterwright.documentation.markdown import code, page, prose, table
from clusterwright.feeds.fetch import FEEDS
from clusterwright.pricing.store import STORE_VARIABLE
from clusterwright.sizing.hardware.calibration import FOLDER_VARIABLE

_INTRODUCTION = """
What Clusterwright reads from the environment. Nothing of it is needed for a plan, and no value is written to a file.
"""


def variables() -> tuple[tuple[str, str], ...]:
    """Return name and meaning of every variable."""
    keys = tuple((feed.key, f"the key that {code(f'prices fetch {feed.name}')} sends") for feed in FEEDS.values())
    return (
        (STORE_VARIABLE, "your price store: a DuckDB file, a folder of Parquet files, or an `s3://` address"),
        ("XDG_DATA_HOME", "where the price store is without that variable; `~/.local/share` by default"),
        (FOLDER_VARIABLE, "folder that `clusterwright calibrate` wrote; plans then use your measurements"),
        (TOKEN, "the token that `clusterwright web` asks for when it listens on another host than this machine"),
        *(entry for entry in keys if entry[0]),
        ("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN", "login for a price store on object storage"),
        ("AWS_REGION, AWS_ENDPOINT_URL", "region and address of that object storage"),
        ("AWS_SKIP_SIGNATURE", "`true` for a public bucket"),
        ("AWS_PROFILE", "the login of `preflight --online` on AWS"),
        ("AZURE_SUBSCRIPTION_ID, ARM_SUBSCRIPTION_ID", "the subscription that `preflight --online` asks on Azure"),
        ("NO_COLOR", "set to anything: no colour and no bold"),
        ("COLUMNS", "width of the output where it is not a terminal"),
    )


def environment_page() -> str:
    """Return the page."""
    rows = ((", ".join(code(name) for name in names.split(", ")), prose(meaning)) for names, meaning in variables())
    return page("Environment variables", _INTRODUCTION, table(("Variable", "Meaning"), rows))
