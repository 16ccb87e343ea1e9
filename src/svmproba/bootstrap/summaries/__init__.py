"""What the scores of all members say of each sample."""
