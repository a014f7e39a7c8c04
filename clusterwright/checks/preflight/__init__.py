"""What a generated project's program asks for, recorded and checked: begin with `recording`."""
