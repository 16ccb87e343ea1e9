"""Links and methods that the paper compares with."""
