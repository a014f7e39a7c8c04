"""What follows the cash flow: tax with its books, loans and leases. Start with `after_tax`."""
