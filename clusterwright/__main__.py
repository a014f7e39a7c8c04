"""The command, as `python -m clusterwright`."""

from clusterwright.cli.main import run

run()
