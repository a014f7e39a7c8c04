"""What a valid blueprint may not say: rules between sections, and with the catalogue. Start with `hardware`."""
