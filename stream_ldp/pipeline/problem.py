"""What is wrong with a message that cannot be read."""

from pydantic import ValidationError

from stream_ldp.printable import printable


def problem_of(error: Exception) -> str:
    """Say in one line why a message could not be read.

    Of what pydantic found wrong, it is the first problem without the value, and the number of the others.
    """
    if not isinstance(error, ValidationError):
        return printable((str(error) or repr(error)).splitlines()[0])
    problems = error.errors(include_url=False, include_input=False)
    place = ".".join(map(str, problems[0]["loc"]))
    others = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return printable(f"{place}: {problems[0]['msg']}{others}".removeprefix(": "))
