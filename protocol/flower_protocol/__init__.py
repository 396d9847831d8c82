"""The contract between ``flower`` and ``flowerd``: records, one codec, and where the socket is. No I/O."""
