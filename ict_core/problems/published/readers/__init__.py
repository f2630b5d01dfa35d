"""One reader per file: `read`, a pure function from a row to an item. A set's YAML file names it, with - for _."""
