"""The preparation steps by name, in their usual order. A new one is a folder and two lines here."""
