//go:build tools

// Package pulumi pins the Pulumi command line that the engine tests drive. A module of our own builds it, because
// `go install` refuses the replace directives in the command's own go.mod.
package pulumi

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
