"""``python -m revelio``: the command line, as torchrun starts it."""

from revelio.cli import main

if __name__ == "__main__":
    main()
