"""Kubernetes on premises: the cluster as its files see it, network, queues, the form of a job. Start with `cluster`."""
