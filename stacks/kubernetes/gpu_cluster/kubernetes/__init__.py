"""What only a Kubernetes cluster needs: control plane, add-ons, the training namespace and the groups of GPU nodes."""
