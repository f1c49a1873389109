"""Every figure of the three papers that this product comes from, measured again, and the page that shows them.

A module for each paper has its figures, its claims and its slips; `study` measures, `figure` arranges what was
measured, `plots` draws, and `page` writes docs/papers.md.
"""
