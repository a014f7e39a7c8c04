"""What jobs of any kind need of the fabric between nodes: settings, adapters, the example job. Begin with `fabric`."""
