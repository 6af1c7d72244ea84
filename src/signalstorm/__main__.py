"""``python -m signalstorm`` is the command ``signalstorm``."""

from signalstorm.cli import main

if __name__ == "__main__":
    main()
