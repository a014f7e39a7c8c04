"""What the user writes: the schema, the loader that knows positions, and the rendering of errors."""
