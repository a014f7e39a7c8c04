"""What only a Kubernetes cluster needs: control plane, add-ons, the namespace of jobs and the groups of GPU nodes."""
