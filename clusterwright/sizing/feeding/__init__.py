"""Reading and preparing training data. Start with `loading`."""
