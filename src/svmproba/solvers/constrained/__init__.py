"""SVMs with floors under their training rates."""
