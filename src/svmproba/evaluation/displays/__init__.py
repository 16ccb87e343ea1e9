"""Figures, by the Display convention of scikit-learn."""
