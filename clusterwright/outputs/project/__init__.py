"""Writing a cloud's project again over one that its owner has configured. `kept_values` is the module to open first."""
