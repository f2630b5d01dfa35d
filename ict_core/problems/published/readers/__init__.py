"""One reader a file: `read`, a pure function from a row to an item. A set's YAML file names it, - for _."""
