"""From columns to numbers: what the paper's protocol and the command line share."""
