"""On-premises physics (fabric, racks, power, cooling) and the bill of any target. Knows no money."""
