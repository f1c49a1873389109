"""The text of a plan, without the drawing of its tables."""

from stream_ldp.pipeline.plan import Plan


def text_of(planned: Plan) -> str:
    """Return every title, row and note of a plan on a line of its own, cells apart by a bar."""
    lines = []
    for section in planned.sections():
        lines += [section.title, " | ".join(section.columns), *map(" | ".join, section.rows), *section.notes]
    return "\n".join(lines)
