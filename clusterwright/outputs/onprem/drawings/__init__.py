"""Drawings of a site: fabric, floor plan, racks. Start with `floor_plan`."""
