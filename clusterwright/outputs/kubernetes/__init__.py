"""Kubernetes files of a cluster and its jobs. Start with `files`."""
