"""``python -m svmproba.cli``."""

from svmproba.cli import main

if __name__ == "__main__":
    main()
