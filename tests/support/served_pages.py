"""The pages on a real server, without an Airflow: of what it has, only that the pages of DAGs and questions exist."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from support.browser import Page

_DAGS = Path(__file__).parents[2] / "dags"
_START_SECONDS = 30.0


@contextmanager
def served(pages: FastAPI) -> Iterator[str]:
    """Serve the pages at their path, and yield the address.

    :param pages: the app of the plugin
    """
    app = FastAPI()
    (question,) = [path for each in pages.routes if (path := getattr(each, "path", "")).startswith("/question/")]

    @app.get("/")
    def _home() -> HTMLResponse:
        return HTMLResponse("<main>Airflow</main>")

    @app.get("/dags/{dag_id}")
    @app.get("/dags/{dag_id}/runs/{run}")
    @app.get(f"/kafka-dr{question}")
    def _dag(dag_id: str) -> HTMLResponse:
        if not (_DAGS / f"{dag_id}.py").is_file():
            raise HTTPException(404)
        return HTMLResponse(f"<main>{dag_id}</main>")

    app.mount("/kafka-dr", pages)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not server.started:
            assert thread.is_alive(), "the server of the pages ended"
            assert time.monotonic() < deadline, "the server of the pages did not start"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_START_SECONDS)


def opened(page: Page, address: str) -> str:
    """Open a page, and return what a person reads."""
    page.ask("window.before = true")
    page.go(address)
    page.wait("!window.before && document.readyState === 'complete' && document.querySelector('main')")
    return page.text()
