"""What classifiers share that have one SVM for every pair of classes."""
