"""How sheets are written: formulas with their values, pages, names of inputs. Start with `page`."""
