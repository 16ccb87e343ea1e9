"""The mathematics: arrays in, arrays out, no scikit-learn."""
