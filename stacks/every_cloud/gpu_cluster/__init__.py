"""The components and settings of this cluster; the programs of the layers put them together."""
