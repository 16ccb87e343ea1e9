"""What the paper's experiments and the command line share: columns, folds, summaries, progress."""
