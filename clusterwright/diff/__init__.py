"""What changed between two plans, and which inputs caused it. Start with `differences`."""

from clusterwright import call_like_the_interface

call_like_the_interface(__name__)
