import { HEADERS } from "@isochrone/telemetry";
import type { Fetch, FetchAnswer } from "@isochrone/runtime";
import { TRACEPARENT_HEADER } from "@isochrone/runtime/tracing";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { BusError } from "../../ports/errors.ts";
import type { BusErrorCode } from "../../ports/errors.ts";
import type { OutgoingRecord, Publisher } from "../../ports/port.ts";
import { KEY_HEADER, TOPIC_HEADER } from "./routing.ts";
import { decodeExportResponse, statusMessageOf } from "./wire.ts";
import type { PartialSuccess } from "./wire.ts";

export interface OtlpHttpPublisherOptions {
  /** Full URL of the endpoint, e.g. http://aggregator:8080/v1/metrics */
  readonly url: string;
  /** Timeout per request, answer included. @default 10000 */
  readonly timeoutMs?: number;
  /** Minimum size for compression, bytes. @default 1024 */
  readonly gzipMinBytes?: number;
  /** Called before every request, so that a rotated token is used; null: send none. */
  readonly token?: () => string | null | Promise<string | null>;
  /** For example one that adds a token. @default the platform's fetch */
  readonly fetch?: Fetch;
  readonly onPartialSuccess?: (partial: PartialSuccess) => void;
}

/** Error code by HTTP status. Other 4xx are `rejected`, other 5xx `unavailable`. */
const CODE_OF_STATUS: Readonly<Record<number, BusErrorCode>> = {
  401: "unauthorized",
  403: "unauthorized",
  408: "timeout",
  413: "too_large",
  429: "overloaded",
};

/** Answers are a few bytes; larger ones are from another kind of server. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_MS = 5 * 60_000;
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** Publishes to an OTLP/HTTP endpoint such as otlpHttpIngest's: one POST per record, in order. */
export class OtlpHttpPublisher implements Publisher {
  readonly #options: OtlpHttpPublisherOptions;
  readonly #timeoutMs: number;
  readonly #gzipMinBytes: number;

  constructor(options: OtlpHttpPublisherOptions) {
    const { protocol } = URL.canParse(options.url) ? new URL(options.url) : { protocol: "" };
    if (protocol !== "http:" && protocol !== "https:") {
      throw new BusError(
        "invalid_option",
        `url of an OTLP/HTTP publisher must be an http or https address, got "${options.url}"`,
      );
    }
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#gzipMinBytes = options.gzipMinBytes ?? 1_024;
    if (!Number.isSafeInteger(this.#timeoutMs) || this.#timeoutMs < 1) {
      throw new BusError(
        "invalid_option",
        `timeoutMs of an OTLP/HTTP publisher must be a whole number of at least 1, got ${this.#timeoutMs}`,
      );
    }
  }

  async publish(
    topic: string,
    records: readonly OutgoingRecord[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<void> {
    for (const record of records) await this.#post(topic, record, options?.signal);
  }

  async #post(topic: string, record: OutgoingRecord, signal: AbortSignal | undefined): Promise<void> {
    const headers = this.#headersOf(topic, record);
    const token = await this.#options.token?.();
    if (token) headers["authorization"] = `Bearer ${token}`;
    let body: Uint8Array = record.value;
    if (body.byteLength >= this.#gzipMinBytes) {
      body = await promisify(gzip)(body);
      headers["content-encoding"] = "gzip";
    }
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    try {
      const post: Fetch = this.#options.fetch ?? fetch;
      const response = await post(this.#options.url, {
        method: "POST",
        headers,
        body: new Uint8Array(body),
        redirect: "error",
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      this.#judge(response, await readAnswer(response));
    } catch (error) {
      throw this.#errorOf(error, signal, timeout);
    }
  }

  #headersOf(topic: string, record: OutgoingRecord): Record<string, string> {
    const headers: Record<string, string> = { [HEADERS.contentType]: "application/x-protobuf" };
    for (const [name, value] of Object.entries(record.headers)) {
      if (!name.startsWith("isochrone-") && name !== TRACEPARENT_HEADER) continue;
      if (!HEADER_VALUE.test(value))
        throw new BusError(
          "rejected",
          `header ${name} must be visible ASCII, got ${JSON.stringify(value.slice(0, 100))}`,
        );
      headers[name] = value;
    }
    return { ...headers, [TOPIC_HEADER]: topic, [KEY_HEADER]: encodeURIComponent(record.key) };
  }

  #judge(response: FetchAnswer, answer: Uint8Array): void {
    if (response.ok) {
      const partial = decodeQuietly(answer);
      if (partial) this.#options.onPartialSuccess?.(partial);
      return;
    }
    const { status } = response;
    const code = CODE_OF_STATUS[status] ?? (status >= 500 ? "unavailable" : "rejected");
    const detail = statusMessageOf(answer).slice(0, 300);
    const retryAfterMs = retryAfterOf(response.headers.get("retry-after"));
    throw new BusError(
      code,
      `${this.#options.url} answered ${status}${detail ? `: ${detail}` : ""}`,
      retryAfterMs === undefined ? {} : { retryAfterMs },
    );
  }

  #errorOf(error: unknown, signal: AbortSignal | undefined, timeout: AbortSignal): unknown {
    if (error instanceof BusError) return error;
    if (signal?.aborted)
      return new BusError("aborted", "publishing was aborted by the caller", { cause: signal.reason });
    const { url } = this.#options;
    if (timeout.aborted)
      return new BusError("timeout", `${url} did not answer within ${this.#timeoutMs} ms`, { cause: error });
    return new BusError("unavailable", `${url} can't be reached`, { cause: error });
  }
}

async function readAnswer(response: FetchAnswer): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the stream.
    if (bytes > MAX_ANSWER_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The export succeeded even if the answer is unreadable. */
function decodeQuietly(answer: Uint8Array): PartialSuccess | null {
  try {
    return decodeExportResponse(answer);
  } catch {
    return null;
  }
}

/** Reads only seconds: a date would need synchronised clocks. */
function retryAfterOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,6}$/.test(text)
    ? Math.min(MAX_RETRY_AFTER_MS, Number(text) * 1000)
    : undefined;
}
