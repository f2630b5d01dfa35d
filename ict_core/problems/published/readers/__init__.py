"""One reader a file: `read`, a pure function from a row to an item. A YAML file gives its name, - for _."""
