"""Cash flows and cost metrics of priced bills; runs the SQL of `tco/`."""
