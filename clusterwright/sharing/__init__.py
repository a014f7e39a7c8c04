"""Several workloads on one cluster: hours that each claims, the size of the cluster, what each pays. Open `decide`."""
