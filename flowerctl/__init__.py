"""The two commands a person types: ``flower`` (attach) and ``flowerctl`` (operate). Thin clients of ``flowerd``."""
