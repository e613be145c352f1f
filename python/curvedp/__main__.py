"""``python -m curvedp`` is the ``curvedp`` command."""

from curvedp.cli import main

main()
