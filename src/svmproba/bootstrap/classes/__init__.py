"""Bootstrap ensembles of more than two classes: one ensemble for every pair of classes."""
