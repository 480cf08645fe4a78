"""The app: routes, what a browser may do with the pages, and how errors look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.middleware.trustedhost import TrustedHostMiddleware

from dashboard.access import Access, TokenAccess
from dashboard.pages import (
    backfills,
    documents,
    figures,
    licences,
    quality,
    quarantine,
    sources,
    tonight,
    viewer,
)
from dashboard.site import Site
from dashboard.tables import shown
from ingest.errors import ItemError, MunimentError, RetriableError
from ingest.settings import Settings

NAVIGATION = (
    ("/", tonight.TITLE),
    ("/sources", sources.TITLE),
    ("/quality", quality.TITLE),
    ("/quarantine", quarantine.TITLE),
    ("/documents", documents.TITLE),
    ("/licences", licences.TITLE),
    ("/backfills", backfills.TITLE),
)

_HEADERS = {
    # Nothing runs on these pages, and nothing is fetched from elsewhere (W3C, CSP Level 3).
    "Content-Security-Policy": "default-src 'none'; img-src 'self'; style-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# A chart is a picture that brings its own styles; as a picture it can neither run nor fetch.
_CHART_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def create_app(
    settings: Settings,
    *,
    access: Access | None = None,
    dependencies: Sequence[Any] = (),
    hosts: tuple[str, ...] = ("*",),
) -> FastAPI:
    """Return the dashboard of an installation.

    Args:
        settings: of the installation.
        access: who may act; whoever has the settings' token where it is not given.
        dependencies: FastAPI's, of every page: they raise for whom may not look.
        hosts: names by which it may be asked for; others are refused, so that no page of another
            site can pass itself off as this one (DNS rebinding).
    """
    app = FastAPI(
        title="Muniment",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=list(dependencies),
    )
    site = Site(settings)
    rights = access or TokenAccess(settings)
    environment = Environment(
        loader=PackageLoader("dashboard"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(navigation=NAVIGATION, asks_token=rights.asks_token)
    environment.filters["shown"] = shown

    def page(
        request: Request, template: str, title: str, place: str, context: dict[str, Any]
    ) -> Response:
        shared = {"root": _root(request), "may_act": rights.may_act(request)}
        html = environment.get_template(template).render(
            title=title, place=place, **shared, **context
        )
        return HTMLResponse(html)

    def answer(
        request: Request, template: str, title: str, place: str, context: dict[str, Any]
    ) -> Response:
        """Return the page, or one of its tables as CSV where ``?csv=NAME`` asks for it."""
        asked = request.query_params.get("csv")
        if asked is None:
            query = [(k, v) for k, v in request.query_params.multi_items() if k != "csv"]
            path = request.url.path.removeprefix(_root(request))
            return page(request, template, title, place, {**context, "path": path, "asked": query})
        for table in context["tables"]:
            if table.name == asked:
                kept = {"Content-Disposition": f'attachment; filename="{table.name}.csv"'}
                return Response(table.csv(), media_type="text/csv; charset=utf-8", headers=kept)
        raise ItemError("table_unknown", f"This page has no table {asked!r}.")

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Any]) -> Response:
        response: Response = await call_next(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    if hosts != ("*",):
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))

    @app.exception_handler(MunimentError)
    async def explained(request: Request, error: MunimentError) -> Response:
        status, title = 500, "This cannot be shown"
        if isinstance(error, ItemError):
            status, title = 404, "Not there"
        elif isinstance(error, RetriableError):
            status, title = 503, "Not now"
        response = page(request, "error.html", title, "", {"error": error})
        response.status_code = status
        return response

    @app.get("/")
    def tonight_page(request: Request) -> Response:
        return answer(request, "tonight.html", tonight.TITLE, "/", tonight.tonight(site))

    @app.get("/sources")
    def sources_page(request: Request) -> Response:
        return answer(request, "tables.html", sources.TITLE, "/sources", sources.sources(site))

    @app.get("/quality")
    def quality_page(request: Request, source: str = "") -> Response:
        context = quality.quality(site, source)
        return answer(request, "quality.html", quality.TITLE, "/quality", context)

    @app.get("/quality/{name}")
    def metric_page(request: Request, name: str, source: str = "") -> Response:
        context = quality.one_metric(site, name, source)
        return answer(request, "metric.html", name, "/quality", context)

    @app.get("/charts/{name}.svg")
    def chart(name: str, source: str = "") -> Response:
        policy = {"Content-Security-Policy": _CHART_POLICY}
        drawn = quality.chart(site, name, source)
        return Response(drawn, media_type="image/svg+xml", headers=policy)

    @app.get("/quarantine")
    def quarantine_page(
        request: Request,
        state: str = "open",
        source: str = "",
        code: str = "",
        before: int | None = None,
    ) -> Response:
        context = quarantine.quarantine(site, state, source, code, before)
        return answer(request, "quarantine.html", quarantine.TITLE, "/quarantine", context)

    @app.get("/quarantine/{number}")
    def entry_page(request: Request, number: int) -> Response:
        context = quarantine.entry(site, number)
        return answer(request, "entry.html", f"Entry {number}", "/quarantine", context)

    @app.post("/quarantine/{number}/{action}")
    def act(
        request: Request,
        number: int,
        action: Literal["retry", "dismiss"],
        token: Annotated[str, Form()] = "",
        reason: Annotated[str, Form()] = "",
    ) -> Response:
        refusal = rights.refusal(request, token)
        if refusal is not None:
            return PlainTextResponse(refusal, status_code=403)
        if action == "retry":
            site.catalog.retry_quarantine(number)
        elif action == "dismiss" and reason.strip():
            site.catalog.dismiss_quarantine(number, reason.strip())
        else:
            return PlainTextResponse("Give a reason to dismiss it for.", status_code=422)
        return RedirectResponse(f"{_root(request)}/quarantine/{number}", status_code=303)

    @app.get("/documents")
    def documents_page(
        request: Request,
        q: str = "",
        source: str = "",
        after_source: str = "",
        after_key: str = "",
    ) -> Response:
        context = documents.documents(site, q, source, after_source, after_key)
        return answer(request, "documents.html", documents.TITLE, "/documents", context)

    @app.get("/documents/{doc_id}")
    def document_page(request: Request, doc_id: str) -> Response:
        context = documents.document(site, doc_id)
        title = context["document"].title
        return answer(request, "document.html", title, "/documents", context)

    @app.get("/documents/{doc_id}/versions/{number}")
    def viewer_page(
        request: Request,
        doc_id: str,
        number: int,
        page: int | None = None,
        chunk: str | None = None,
    ) -> Response:
        context = viewer.version_page(site, doc_id, number, page, chunk)
        title = f"{context['record'].title}, version {number}"
        return answer(request, "viewer.html", title, "/documents", context)

    @app.get("/documents/{doc_id}/versions/{number}/pages/{page}.png")
    def page_picture(doc_id: str, number: int, page: int) -> Response:
        return Response(viewer.picture(site, doc_id, number, page), media_type="image/png")

    @app.get("/chunks/{chunk_id}")
    def chunk_page(request: Request, chunk_id: str) -> Response:
        return RedirectResponse(_root(request) + viewer.find_chunk(site, chunk_id))

    @app.get("/licences")
    def licences_page(request: Request) -> Response:
        context = licences.licences(site)
        return answer(request, "licences.html", licences.TITLE, "/licences", context)

    @app.get("/backfills")
    def backfills_page(request: Request) -> Response:
        context = backfills.backfills(site)
        return answer(request, "tables.html", backfills.TITLE, "/backfills", context)

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(figures.figures(site), media_type=CONTENT_TYPE_LATEST)

    app.mount("/static", StaticFiles(directory=str(files("dashboard") / "static")), name="static")
    return app


def _root(request: Request) -> str:
    """Return the path that the dashboard is mounted under, empty or with a slash in front."""
    return str(request.scope.get("root_path", ""))
