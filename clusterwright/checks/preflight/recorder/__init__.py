"""Programs of the stacks' environment that run a project against a recording monitor: begin with `record`.

They know nothing of the rest of Clusterwright, whose own environment holds no Pulumi: `recording` starts them in the
environment of the project.
"""
