"""From a priced bill to cash flows and metrics; runs the SQL of `tco/`."""
