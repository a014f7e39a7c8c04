"""The Plan: the only place that chooses, and the record that everything after it reads."""

from clusterwright import call_like_the_interface

call_like_the_interface(__name__)
