"""Methods on the dual: sequential minimal optimisation and coordinate descent."""
