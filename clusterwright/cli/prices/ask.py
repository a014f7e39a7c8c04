"""The commands that ask the price book. They take the same options; `register` adds them to the commands of prices.

Heavy modules are imported inside the commands that need them, so that `--help` answers at once.
"""

from collections.abc import Callable
from typing import Annotated

import typer

from clusterwright.cli.options import AsJson
from clusterwright.cli.prices.questions import QUERIES

About = Annotated[str | None, typer.Argument(metavar="GPU|PRODUCT", help="for example h100 or aws/p5.48xlarge")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="DAY", help="as if asked on this day")]
Term = Annotated[str, typer.Option(help="only this term, for example spot")]
Region = Annotated[str, typer.Option(help="only this region")]
Most = Annotated[int, typer.Option(min=1, help="rows to print")]
Sql = Annotated[bool, typer.Option("--sql", help="print a script for DuckDB that answers, and stop")]
Store = Annotated[
    str | None,
    typer.Option("--store", metavar="FILE|FOLDER|URL", help="price store or lake; the user's own store by default"),
]
#: Questions that take no other options.
PLAIN = ("cheapest", "discounts", "volatility", "index")


def register(prices: typer.Typer) -> None:
    """Add a command for each question."""
    for name in PLAIN:
        prices.command(name, help=QUERIES[name].help)(_plain(name))
    others: tuple[Callable[..., None], ...] = (history, months, services, breakeven, coverage)
    for asking in others:
        prices.command(asking.__name__, help=QUERIES[asking.__name__].help)(asking)


def _plain(name: str) -> Callable[..., None]:
    def ask(
        *,
        about: About = None,
        as_of: AsOf = None,
        term: Term = QUERIES[name].term,
        region: Region = "",
        most: Most = QUERIES[name].most,
        store: Store = None,
        as_json: AsJson = False,
        sql: Sql = False,
    ) -> None:
        from clusterwright.cli.prices import queries as price_queries

        raise typer.Exit(
            price_queries.answer(
                name,
                about=about,
                as_of=as_of,
                term=term,
                region=region,
                most=most,
                store=store,
                as_json=as_json,
                show_sql=sql,
            )
        )

    return ask


def history(
    *,
    about: About = None,
    as_of: AsOf = None,
    term: Term = QUERIES["history"].term,
    region: Region = "",
    most: Most = QUERIES["history"].most,
    chart: Annotated[bool, typer.Option("--chart", help="draw bars beside the prices")] = False,
    store: Store = None,
    as_json: AsJson = False,
    sql: Sql = False,
) -> None:
    """Show every change of a price."""
    from clusterwright.cli.prices import queries as price_queries

    raise typer.Exit(
        price_queries.answer(
            "history",
            about=about,
            as_of=as_of,
            term=term,
            region=region,
            most=most,
            chart=chart,
            store=store,
            as_json=as_json,
            show_sql=sql,
        )
    )


def months(
    *,
    about: About = None,
    first: Annotated[str | None, typer.Option("--from", metavar="MONTH", help="for example 2026-01")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="MONTH", help="for example 2026-09")] = None,
    extremes: Annotated[bool, typer.Option("--extremes", help="lowest and highest only: fast over years")] = False,
    as_of: AsOf = None,
    term: Term = QUERIES["months"].term,
    region: Region = "",
    most: Most = QUERIES["months"].most,
    store: Store = None,
    as_json: AsJson = False,
    sql: Sql = False,
) -> None:
    """Show prices by month."""
    from clusterwright.cli.prices import queries as price_queries

    raise typer.Exit(
        price_queries.answer(
            "extremes" if extremes else "months",
            about=about,
            as_of=as_of,
            term=term,
            region=region,
            most=most,
            store=store,
            as_json=as_json,
            show_sql=sql,
            more=price_queries.months(first, last),
        )
    )


def services(
    *,
    kind: Annotated[str, typer.Argument(help="for example storage, egress, licence; all of them if left out")] = "",
    provider: Annotated[str, typer.Option(help="only this one, for example aws")] = "",
    as_of: AsOf = None,
    term: Term = "",
    region: Region = "",
    most: Most = QUERIES["services"].most,
    store: Store = None,
    as_json: AsJson = False,
    sql: Sql = False,
) -> None:
    """List prices of what is no accelerator."""
    from clusterwright.cli.prices import queries as price_queries

    raise typer.Exit(
        price_queries.services(
            kind=kind,
            provider=provider,
            as_of=as_of,
            term=term,
            region=region,
            most=most,
            store=store,
            as_json=as_json,
            show_sql=sql,
        )
    )


def breakeven(
    *,
    about: About = None,
    utilisation: Annotated[float, typer.Option(help="share of the hours that are used")] = 1.0,
    server: Annotated[str, typer.Option(metavar="SYSTEM", help="what is bought, for example dgx-h100")] = "",
    purchase: Annotated[float | None, typer.Option(metavar="USD", help="price of one server")] = None,
    kwh: Annotated[float | None, typer.Option("--usd-per-kwh", help="price of energy")] = None,
    pue: Annotated[float | None, typer.Option(help="power of the site per power of servers")] = None,
    load: Annotated[float | None, typer.Option(help="mean power as a share of nameplate")] = None,
    room: Annotated[float | None, typer.Option("--usd-per-kw-month", help="room, energy apart")] = None,
    yearly: Annotated[float | None, typer.Option("--yearly-share", help="of the price: support, capital")] = None,
    hours: Annotated[float | None, typer.Option("--hours-per-month", help="730 by default")] = None,
    as_of: AsOf = None,
    term: Term = "",
    region: Region = "",
    most: Most = QUERIES["breakeven"].most,
    store: Store = None,
    as_json: AsJson = False,
    sql: Sql = False,
) -> None:
    """Show after how many months buying is cheaper than renting."""
    from clusterwright.cli.prices import breakeven as price_breakeven

    given = {
        "purchase_usd": purchase,
        "usd_per_kwh": kwh,
        "pue": pue,
        "load_fraction": load,
        "usd_per_kw_month": room,
        "yearly_share": yearly,
        "hours_per_month": hours,
    }
    raise typer.Exit(
        price_breakeven.breakeven(
            about=about,
            utilisation=utilisation,
            server=server,
            given=given,
            as_of=as_of,
            term=term,
            region=region,
            most=most,
            store=store,
            as_json=as_json,
            show_sql=sql,
        )
    )


def coverage(
    *,
    about: About = None,
    as_of: AsOf = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="print the holes as a CSV of quotes to fill in")] = False,
    store: Store = None,
    as_json: AsJson = False,
    sql: Sql = False,
) -> None:
    """Show what has no price."""
    from clusterwright.cli.prices import queries as price_queries

    raise typer.Exit(
        price_queries.coverage(about=about, as_of=as_of, as_csv=as_csv, store=store, as_json=as_json, show_sql=sql)
    )
