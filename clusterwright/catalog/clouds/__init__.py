"""What clouds have besides machines: placement, capacity, quotas, Lustre, prices alone. Start with `objects`."""
