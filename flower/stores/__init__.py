"""Where transcripts live, and what of them may be fed back.

`sqlite` keeps everything verbatim. What a resume is given is rewritten on the way out: `expire`, then `trim`, then
`prune`, each a function over a list of entries.
"""
