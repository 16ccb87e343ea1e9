"""What bootstrap ensembles share: attributes, predictions, calibration, rates."""
