"""The files of a cluster with Kubernetes: objects name each other, and ask for what there is. Start with `proof`."""
