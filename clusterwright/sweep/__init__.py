"""The fronts of many node types and scenarios, with their costs. Start with `fronts`."""

from clusterwright import call_like_the_interface

call_like_the_interface(__name__)
