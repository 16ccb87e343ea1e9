"""What estimators of all kinds share: costs, floors, warnings, progress, texts of parameters."""
