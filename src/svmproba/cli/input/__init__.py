"""From files to columns and cells."""
