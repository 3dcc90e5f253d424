import { request as httpsRequest, type Agent } from "node:https";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** What of `fetch` our clients use. */
export interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * `fetch` over an agent, which says whose certificates are believed. Redirects aren't followed: they are
 * answers like others.
 */
export function httpsFetch(agent: Agent, url: string, init: FetchInit): Promise<Response> {
  const { method = "GET", headers = {}, body, signal } = init;
  return new Promise((resolve, reject) => {
    const options = { method, headers, agent, ...(signal === undefined ? {} : { signal }) };
    const request = httpsRequest(url, options, (message) => resolve(responseOf(message, method)));
    request.on("error", (cause) => reject(new TypeError("fetch failed", { cause })));
    request.end(body);
  });
}

function responseOf(message: IncomingMessage, method: string): Response {
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  if (method !== "HEAD" && !WITHOUT_BODY.has(status)) {
    // The same class; node's types and the platform's only don't know of each other.
    const body = Readable.toWeb(message) as unknown as ConstructorParameters<typeof Response>[0];
    return new Response(body, { status, headers });
  }
  message.resume();
  return new Response(null, { status, headers });
}
