"""Sized and priced candidates of every target, and the limits they meet. Start with `consider`."""
