"""The tests of flower; a package, so that no dependency's own `tests` can stand in its place."""
