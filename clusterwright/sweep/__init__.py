"""The fronts of many node types and scenarios, with their costs. Start with `fronts`."""
