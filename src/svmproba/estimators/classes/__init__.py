"""What estimators do with more than two classes: fits, probabilities, rates, intervals."""
