"""Documents and tables as users write them, with positions, and mistakes as findings. Start with `document`."""
