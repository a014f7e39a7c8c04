"""A plan against the provider's bill. Start with `reconcile`."""
