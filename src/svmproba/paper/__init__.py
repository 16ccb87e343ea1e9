"""The paper's experiments: data sets, preprocessing, protocol and printed tables."""
