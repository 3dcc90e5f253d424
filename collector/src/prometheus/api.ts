// HTTP client of Prometheus' query API, bounded in time and bytes. Follows no redirects, which could leak
// credentials.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { reasonOf, codeOf, looseFields } from "@isochrone/primitives";
import { readAnswer, type Answer } from "./answer.ts";
import { PrometheusError, type PrometheusFailure } from "./errors.ts";

interface ApiOptions {
  /** Base URL, optionally with a path before /api/v1. */
  readonly url: string;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly tenant: string | null;
  readonly insecureSkipVerify: boolean;
}

/** Read anew for each round, because files are rotated. */
export interface Credentials {
  readonly authorization: string | null;
  /** PEM, or null for the system's. */
  readonly ca: string | null;
}

const MAX_ERROR_BYTES = 65_536;

export class PrometheusApi {
  readonly #options: ApiOptions;
  readonly #endpoint: URL;
  #agent: { readonly ca: string | null; readonly http: HttpAgent } | null = null;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#endpoint = new URL(`${options.url.replace(/\/+$/, "")}/api/v1/query`);
  }

  get server(): string {
    return `${this.#endpoint.origin}${this.#endpoint.pathname}`;
  }

  close(): void {
    this.#agent?.http.destroy();
    this.#agent = null;
  }

  /** Result of a range selector that ends at `timeMs`. Throws PrometheusError, or the signal's reason. */
  async query(
    selector: string,
    rangeMs: number,
    timeMs: number,
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<Answer & { readonly bytes: number }> {
    const { timeoutMs } = this.#options;
    const form = new URLSearchParams({
      query: `${selector}[${rangeMs}ms]`,
      time: (timeMs / 1000).toFixed(3),
      timeout: `${timeoutMs}ms`,
    });
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const body = await this.#exchange(form.toString(), credentials, AbortSignal.any([timeout, signal]));
      const times = { fromMs: timeMs - rangeMs, toMs: timeMs };
      return { ...readAnswer(body, this.server, times), bytes: body.length };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PrometheusError) throw error;
      if (timeout.aborted)
        throw new PrometheusError("timeout", `${this.server} must answer within ${timeoutMs} ms`, {
          cause: error,
        });
      throw this.#connectionError(error);
    }
  }

  async #exchange(form: string, credentials: Credentials, signal: AbortSignal): Promise<string> {
    const response = await this.#send(form, credentials, signal);
    const { maxResponseBytes } = this.#options;
    if (response.statusCode === 200) return readBounded(response, maxResponseBytes, () => this.#tooLarge());
    const body = await readBounded(response, MAX_ERROR_BYTES, () => this.#failure(response, ""));
    throw this.#failure(response, body);
  }

  #send(form: string, credentials: Credentials, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const secure = this.#endpoint.protocol === "https:";
    const request = (secure ? httpsRequest : httpRequest)(
      this.#endpoint,
      { method: "POST", agent: this.#agentFor(credentials.ca), headers: this.#headers(credentials), signal },
      resolve,
    );
    request.on("error", reject);
    request.end(form);
    return promise;
  }

  #headers({ authorization }: Credentials): Record<string, string> {
    const { tenant } = this.#options;
    return {
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      "accept-encoding": "gzip",
      ...(authorization === null ? {} : { authorization }),
      ...(tenant === null ? {} : { "x-scope-orgid": tenant }),
    };
  }

  #agentFor(ca: string | null): HttpAgent {
    if (this.#agent !== null && this.#agent.ca === ca) return this.#agent.http;
    this.close();
    const tls = {
      rejectUnauthorized: !this.#options.insecureSkipVerify,
      ...(ca === null ? {} : { ca }),
    };
    const http =
      this.#endpoint.protocol === "https:"
        ? new HttpsAgent({ keepAlive: true, ...tls })
        : new HttpAgent({ keepAlive: true });
    this.#agent = { ca, http };
    return http;
  }

  #tooLarge(): PrometheusError {
    const { maxResponseBytes } = this.#options;
    return new PrometheusError(
      "too_large",
      `${this.server} must answer with at most ${maxResponseBytes} bytes, got more: narrow collector.prometheusMatchers`,
    );
  }

  #failure(response: IncomingMessage, body: string): PrometheusError {
    const status = response.statusCode ?? 0;
    const reason = reasonIn(body);
    const retryAfterS = Number(response.headers["retry-after"] ?? 0);
    return new PrometheusError(
      failureOf(status, reason),
      `${this.server} must answer 200, got ${status}${reason === "" ? "" : ` (${reason})`}`,
      { retryAfterMs: retryAfterS > 0 && Number.isFinite(retryAfterS) ? retryAfterS * 1000 : 0 },
    );
  }

  #connectionError(error: unknown): PrometheusError {
    const [code, message] = [codeOf(error) ?? "", reasonOf(error)];
    const tls = /CERT|SELF_SIGNED|ISSUER|LEAF_SIGNATURE|ERR_TLS|ERR_SSL|EPROTO/.test(code);
    const cutOff = code === "Z_BUF_ERROR" || code === "Z_DATA_ERROR";
    const kind = tls ? "tls" : cutOff ? "malformed" : "connect";
    return new PrometheusError(kind, `${this.server} can't be asked: ${message || code}`, { cause: error });
  }
}

function failureOf(status: number, reason: string): PrometheusFailure {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 413 || (status === 422 && /too many (samples|bytes|chunks|series)|limit/i.test(reason)))
    return "too_many_samples";
  if (status === 400 || status === 422) return "bad_query";
  if (status === 429 || status === 503) return "overloaded";
  return status === 504 ? "timeout" : "http_status";
}

function reasonIn(body: string): string {
  try {
    const { error } = looseFields<Record<"error", unknown>>(JSON.parse(body));
    return typeof error === "string" ? error.replaceAll(/\s+/g, " ").slice(0, 300) : "";
  } catch {
    return "";
  }
}

/** Decompressed body. Rejects if the connection ends early. */
async function readBounded(
  response: IncomingMessage,
  maxBytes: number,
  onMore: () => Error,
): Promise<string> {
  let bytes = 0;
  const plain = response.headers["content-encoding"] === "gzip" ? response.pipe(createGunzip()) : response;
  if (plain !== response) response.once("error", (error) => plain.destroy(error));
  async function* bounded(): AsyncGenerator<Buffer> {
    for await (const chunk of plain as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw onMore();
      yield chunk;
    }
  }
  try {
    return await text(bounded());
  } catch (error) {
    response.destroy();
    throw error;
  }
}
