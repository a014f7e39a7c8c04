"""The compute fabric and the networks beside it: sizes, ports, switches. Start with `system`."""
