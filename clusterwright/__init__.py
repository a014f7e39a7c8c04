"""Clusterwright: one blueprint of an AI workload in, the cluster, its code, its documents and its cost out."""

__version__ = "0.1.0"
