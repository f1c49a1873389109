"""What follows from the mechanisms without any users: chances, and variances of means."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import DirectResponse
from tests.benchmarks.papers.study import Row


@dataclass(frozen=True, kw_only=True)
class Chances:
    """The chance with which k-RR sends the user's own value, and W-RR, which is that of two values."""

    name: str
    sizes: Sequence[int]
    epsilons: Sequence[float]

    def missing(self, directory: Path) -> str | None:
        """Nothing is needed."""
        return None

    def rows(self, directory: Path, *, repeats: int | None = None) -> list[Row]:
        """Compute the chances."""
        return [
            {"form": "k-rr", "at": epsilon, "series": str(size), "kept": round(_kept(size, epsilon), 5)}
            for size in self.sizes
            for epsilon in self.epsilons
        ]


def _kept(size: int, epsilon: float) -> float:
    stated = DirectResponse(size=size, epsilon=epsilon).stated()
    return float(max(stated[0]))


@dataclass(frozen=True, kw_only=True)
class MeanVariances:
    """The number of users times the largest variance of the mean of one of d numbers, each in [-1, 1]."""

    name: str
    epsilons: Sequence[float]
    numbers: Sequence[int]

    def missing(self, directory: Path) -> str | None:
        """Nothing is needed."""
        return None

    def rows(self, directory: Path, *, repeats: int | None = None) -> list[Row]:
        """Compute the variances."""
        return [
            {
                "form": mean,
                "at": numbers,
                "series": f"{epsilon:g}",
                "variance": float(f"{_variance(mean, numbers, epsilon):.5g}"),
            }
            for mean in ("mean-est", "harmony-mean", "auto", "minimax")
            for epsilon in self.epsilons
            for numbers in self.numbers
        ]


def _variance(mean: str, numbers: int, epsilon: float) -> float:
    questions = SampledCollection.model_validate(
        {
            "collection": "means",
            "mechanism": {"kind": "sampled", "epsilon": epsilon, "mean": mean},
            "attributes": [{"name": f"A{place}", "range": [-1, 1]} for place in range(numbers)],
            "window": {"size": "1m"},
        }
    ).questions
    about = [
        (float(share), question)
        for share, question in zip(questions.shares, questions.questions, strict=True)
        if 0 in question.of
    ]
    return about[0][1].variance(about) / sum(share for share, _ in about)
