"""What systems are made of and joined by: racks, units, media, supplies, names on a bill. Start with `skus`."""
