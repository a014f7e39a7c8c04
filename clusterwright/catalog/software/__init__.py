"""Software of a cluster: releases and their rules (`table`), one set for a node (`solver`), slices of GPUs (`mig`)."""
