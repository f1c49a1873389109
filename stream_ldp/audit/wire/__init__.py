"""A client written from docs/wire.md alone, with the standard library alone: it shares no function with the package.

It is what somebody writes who has the page and the vectors, and neither the package nor its authors. It makes every
decision bit by bit, and is not fast. Audits compare what clients send with what it makes of the same words.
"""
