"""The paper's data sets: where they are published, and how they are read."""
