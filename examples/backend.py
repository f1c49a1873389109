"""A FastAPI backend that reports for its users, with a secret and a ledger for each of them.

pip install fastapi uvicorn
uvicorn backend:app
curl -X POST localhost:8000/answers/ada -H 'Content-Type: application/json' -d '{"bathing": "no", "mobility": "some"}'
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException
from fastapi import Path as InPath
from pydantic import BaseModel

from stream_ldp import Reporter, ReportRefused, Settings, Terms, UserDatabase, load_collection

HERE = Path(__file__).parent
USERS = Path.home() / "care-survey.sqlite"


class Answer(BaseModel):
    bathing: Literal["no", "yes"]
    mobility: Literal["none", "some", "full"]


@asynccontextmanager
async def reporting(app: FastAPI) -> AsyncIterator[None]:
    """Keep one connection to the brokers for all requests."""
    app.state.users = UserDatabase(USERS)
    async with Reporter(load_collection(HERE / "survey.yaml"), settings=Settings.load()) as app.state.reporter:
        yield


app = FastAPI(lifespan=reporting)


@app.post("/answers/{user}")
async def answer(user: Annotated[str, InPath(pattern="^[a-z0-9-]{1,64}$")], given: Answer) -> dict[str, float]:
    """Report a user's answer, and return the user's spent budget in nats."""
    secrets, ledgers = app.state.users.load_or_create([user], terms=Terms(budget=2.0))
    refused: list[ReportRefused] = []
    await app.state.reporter.report_many(
        [given.model_dump()], secrets=secrets, ledgers=ledgers, on_refused=lambda _, why: refused.append(why)
    )
    if refused:
        why, *_ = str(refused[0]).splitlines()  # the cure is for developers
        raise HTTPException(403, why)
    return {"spent": ledgers[0].spending.epsilon}
