"""The pages of `docs/reference`, made from what the program itself reads, and the site. Begin with `reference`."""
