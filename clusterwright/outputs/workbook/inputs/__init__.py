"""The sheets that hold what everything is counted from: inputs, bill, contracts, stages. Start with `sheet`."""
