"""From bags to probabilities: resampling, votes, reliability."""
