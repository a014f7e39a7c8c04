"""The sections of a blueprint, one module each; `blueprint.schema` puts them together. Start with `clouds`."""
