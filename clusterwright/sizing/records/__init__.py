"""Records of sizing: what it takes in and gives back. Start with `job`."""
