//go:build tools

// Package kubernetes pins the API server and the command line of Kubernetes that the engine tests drive.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
