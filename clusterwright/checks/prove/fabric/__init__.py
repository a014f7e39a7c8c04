"""The planned InfiniBand fabric, routed by the real subnet manager in a simulator."""
