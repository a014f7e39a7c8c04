"""Price points with source and date, and the price in force on a day."""
