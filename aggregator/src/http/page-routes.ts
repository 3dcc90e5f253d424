import type { HttpApp } from "@isochrone/runtime/http";
import type { PageAssets } from "../ports/ports.ts";
import { contentEtag, isUnchanged } from "./etag.ts";

/** Restricts the page to its own files, without inline scripts, so that injected text cannot run. */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Public: it contains no cluster data, and users must be able to enter a token. */
const PAGE_ROUTE = { schema: { hide: true }, config: { isOpen: true } };

export function registerPage(app: HttpApp, { assets }: PageAssets): void {
  for (const [path, { contentType, body }] of assets) {
    const etag = contentEtag(body);
    app.get(path, PAGE_ROUTE, (request, reply) => {
      void reply.headers(PAGE_HEADERS).type(contentType);
      return isUnchanged(request, reply, etag) ? reply.send() : reply.send(body);
    });
  }
}
