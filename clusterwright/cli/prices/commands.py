"""The commands of prices: what is known, what came in, what waits in quarantine.

Heavy modules are imported inside the commands that need them, so that `--help` answers at once.
"""

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clusterwright.cli.options import AsJson
from clusterwright.cli.prices import ask as price_ask
from clusterwright.cli.prices.ask import Store
from clusterwright.cli.render.help_text import Application

DEFAULT_COMMAND = "show"


class PriceCommands(TyperGroup):
    """Commands of which `show` may be left out: `clusterwright prices dgx-h100`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own context
        """Put the default command in front unless another one, or help, is asked for."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            if len(args) > 1 and not any(word.startswith("-") for word in args[:2]):
                close = get_close_matches(args[0], self.commands, n=1)
                ctx.fail(f"there is no question {args[0]!r}" + (f"; did you mean {close[0]}?" if close else ""))
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


prices = Application(
    cls=PriceCommands,
    help="Prices with day and source: list, compare, fetch.",
    rich_markup_mode=None,
)


@prices.command(DEFAULT_COMMAND)
def show(
    *,
    sku: Annotated[
        str | None, typer.Argument(metavar="GPU|PRODUCT", help="for example h100, aws/p5.48xlarge or dgx-h100")
    ] = None,
    as_of: price_ask.AsOf = None,
    history: Annotated[bool, typer.Option("--history", help="every change of the price")] = False,
    rejected: Annotated[bool, typer.Option("--rejected", help="what is not used, and why")] = False,
    every: Annotated[bool, typer.Option("--all", help="every price in force, not only a page about them")] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Show prices of a GPU or a product, with day and source."""
    from clusterwright.cli.reference import lookups

    raise typer.Exit(
        lookups.prices(sku, as_of, history=history, rejected=rejected, every=every, store=store, as_json=as_json)
    )


price_ask.register(prices)


@prices.command("import")
def import_quotes(
    *,
    quotes: Annotated[Path, typer.Argument(metavar="QUOTES.csv", help="pricing/README.md lists the columns")],
    source: Annotated[str, typer.Option(help="who gave the prices, for example 'offer Contoso 4711'")],
    seen_on: Annotated[
        str | None, typer.Option("--seen-on", metavar="DAY", help="day of the prices; today by default")
    ] = None,
    hand_kept: Annotated[
        bool, typer.Option("--hand-kept", help="a list that people keep: refused if it only repeats an older one")
    ] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Store a CSV list of quotes, contracts or tariffs."""
    from clusterwright.cli.prices import store as price_store

    raise typer.Exit(
        price_store.import_quotes(
            quotes, source=source, seen_on=seen_on, hand_kept=hand_kept, store=store, as_json=as_json
        )
    )


@prices.command()
def fetch(
    *,
    feed: Annotated[str, typer.Argument(help="for example azure; clusterwright docs feeds lists them")],
    region: Annotated[list[str] | None, typer.Option(help="only this region; may be given again")] = None,
    service: Annotated[
        list[str] | None, typer.Option(help="of the provider beside machines, for example AmazonS3; may be given again")
    ] = None,
    files: Annotated[
        list[Path] | None, typer.Option("--from", metavar="FILE", help="read saved documents; no network")
    ] = None,
    url: Annotated[str, typer.Option(metavar="URL", help="another address, for example of a mirror")] = "",
    redirect_to: Annotated[
        list[str] | None,
        typer.Option("--redirect-to", metavar="HOST", help="a redirect may lead to this host too; may be given again"),
    ] = None,
    seen_on: Annotated[
        str | None, typer.Option("--seen-on", metavar="DAY", help="of saved documents; today by default")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a provider's prices into the store."""
    from clusterwright.cli.prices import feeds as price_feeds

    raise typer.Exit(
        price_feeds.fetch(
            feed,
            regions=region or [],
            services=service or [],
            files=files or [],
            url=url,
            redirect_hosts=redirect_to or [],
            seen_on=seen_on,
            store=store,
            as_json=as_json,
        )
    )


@prices.command("export")
def export_archive(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="a new one")], store: Store = None
) -> None:
    """Write the store as Parquet files.

    One folder of prices per provider.
    """
    from clusterwright.cli.prices import store as price_store

    raise typer.Exit(price_store.export(folder, store=store))


@prices.command()
def restore(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="that `prices export` wrote")], store: Store = None
) -> None:
    """Read such Parquet files into an empty store."""
    from clusterwright.cli.prices import store as price_store

    raise typer.Exit(price_store.restore(folder, store=store))


@prices.command()
def rate(
    currency: Annotated[str, typer.Argument(help="for example EUR")],
    usd: Annotated[float, typer.Argument(help="USD for one unit of it")],
    day: Annotated[str, typer.Option(metavar="DAY", help="whose rate it is")],
    source: Annotated[str, typer.Option(help="for example ECB")],
    store: Store = None,
) -> None:
    """Store the exchange rate of a day."""
    from clusterwright.cli.prices import store as price_store

    raise typer.Exit(price_store.rate(currency, usd, day=day, source=source, store=store))


@prices.command()
def quarantine(
    gate: Annotated[str, typer.Option(help="only what this gate refused")] = "",
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Show the prices that a gate refused, and why."""
    from clusterwright.cli.prices import store as price_store

    raise typer.Exit(price_store.quarantine(gate, store=store, as_json=as_json))


@prices.command()
def release(
    numbers: Annotated[list[int], typer.Argument(metavar="NUMBER", help="as `prices quarantine` shows them")],
    reason: Annotated[str, typer.Option(help="why they are right")],
    store: Store = None,
) -> None:
    """Let prices out of quarantine."""
    from clusterwright.cli.prices import store as price_store

    raise typer.Exit(price_store.release(numbers, reason=reason, store=store))
