import { codeOf } from "@isochrone/primitives";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ScrapeError } from "../ports/errors.ts";
import type { PageReader, Target } from "../ports/ports.ts";
import type { KubeletAccess } from "./kubelet-access.ts";
import { failureOf, refusal, timedOut, type Progress } from "./scrape-failures.ts";

/** Prometheus' preferences, without protobuf and quoted names. */
const ACCEPT =
  "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4," +
  "text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
const METRICS_TYPES = /^(text\/plain|application\/openmetrics-text)\b/i;
/** Idle timeout: the page's pod may be gone. */
const IDLE_MS = 90_000;
const MAX_QUOTED_BYTES = 300;
const UNPACKED_CHUNK_BYTES = 256 * 1024;
const MAX_ATTEMPTS = 3;

type ReadOptions = Parameters<PageReader["read"]>[1];

interface Access {
  readonly agent: HttpAgent | HttpsAgent;
  readonly headers: Readonly<Record<string, string>>;
}

interface Reading {
  readonly target: Target;
  readonly options: ReadOptions;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/**
 * Reads pages over keep-alive connections. Bounds time from the first byte sent to the last received, and
 * size before and after decompression. Never follows redirects, whose target a page must not choose.
 */
export class HttpReader implements PageReader {
  readonly #kubelet: KubeletAccess | null;
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS });
  readonly #https = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS });

  constructor({ kubelet = null }: { readonly kubelet?: KubeletAccess | null } = {}) {
    this.#kubelet = kubelet;
  }

  async read(target: Target, options: ReadOptions): Promise<void> {
    const progress: Progress = { stage: "connecting", bytes: 0 };
    const abort = new AbortController();
    const stop = (): void => abort.abort(options.signal.reason);
    if (options.signal.aborted) stop();
    options.signal.addEventListener("abort", stop, { once: true });
    const { timeoutMs } = options;
    const timer = setTimeout(() => abort.abort(timedOut(target, timeoutMs, progress)), timeoutMs);
    try {
      await this.#read({ ...options, options, signal: abort.signal, target, progress });
    } catch (error) {
      throw failureOf(target, abort.signal.aborted ? abort.signal.reason : error, progress);
    } finally {
      clearTimeout(timer);
      options.signal.removeEventListener("abort", stop);
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
    this.#kubelet?.close();
  }

  async #read(reading: Reading): Promise<void> {
    const access = await this.#accessTo(reading.target);
    const response = await open(reading, access);
    try {
      await judge(reading, response);
      await consume(reading, response);
    } finally {
      // A fully read response leaves the connection reusable; others are cut off.
      if (!response.readableEnded) response.destroy();
    }
  }

  async #accessTo(target: Target): Promise<Access> {
    if (!target.url.startsWith("https:")) return { agent: this.#http, headers: {} };
    if (target.access === "kubelet" && this.#kubelet !== null) return this.#kubelet.of(target);
    return { agent: this.#https, headers: {} };
  }
}

/** Resends once if the server had just closed the kept connection. */
async function open(reading: Reading, access: Access): Promise<IncomingMessage> {
  for (let attempt = 1; ; attempt++) {
    const sent = send(reading, access);
    try {
      return await sent.response;
    } catch (error) {
      const stale = sent.reused() && codeOf(error) === "ECONNRESET";
      if (!stale || attempt === MAX_ATTEMPTS || reading.signal.aborted) throw error;
    }
  }
}

function send(
  { target, timeoutMs, signal, progress }: Reading,
  { agent, headers }: Access,
): { readonly response: Promise<IncomingMessage>; reused(): boolean } {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (target.url.startsWith("https:") ? httpsRequest : httpRequest)(target.url, {
    agent,
    signal,
    headers: {
      accept: ACCEPT,
      "accept-encoding": "gzip",
      "user-agent": "isochrone-collector",
      // Istio's agent gives the application behind a merged page this long.
      "x-prometheus-scrape-timeout-seconds": String(timeoutMs / 1000),
      ...headers,
    },
  });
  request.once("socket", (socket) => {
    const begun = (): void => void (progress.stage = "waiting for an answer");
    if (!socket.connecting) begun();
    else socket.once(target.url.startsWith("https:") ? "secureConnect" : "connect", begun);
  });
  request.once("response", resolve);
  request.on("error", reject);
  request.end();
  return { response: promise, reused: () => request.reusedSocket };
}

async function judge({ target }: Reading, response: IncomingMessage): Promise<void> {
  const { statusCode = 0, headers } = response;
  if (statusCode !== 200) throw refusal(target, statusCode, await beginning(response));
  const type = headers["content-type"] ?? "";
  if (!METRICS_TYPES.test(type))
    throw new ScrapeError(
      "content_type",
      `${target.url} must be a metrics page, got content type ${JSON.stringify(type.slice(0, 100))}`,
    );
}

async function beginning(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length >= MAX_QUOTED_BYTES) break;
  }
  return text.slice(0, MAX_QUOTED_BYTES).trim();
}

async function consume(reading: Reading, response: IncomingMessage): Promise<void> {
  const { maxBytes, progress, options } = reading;
  progress.stage = "receiving";
  const body = unpacked(reading, response);
  options.onContentType?.(response.headers["content-type"] ?? "");
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (body === response) progress.bytes = bytes;
    if (bytes > maxBytes) throw tooLarge(reading, "unpacked");
    if (!options.onBytes(chunk)) return;
  }
}

function unpacked(reading: Reading, response: IncomingMessage): Readable {
  const { target, progress, maxBytes } = reading;
  const encoding = (response.headers["content-encoding"] ?? "identity").toLowerCase();
  if (encoding === "identity") return response;
  if (encoding !== "gzip")
    throw new ScrapeError(
      "encoding",
      `${target.url} must be plain or gzip, got content encoding ${JSON.stringify(encoding.slice(0, 100))}`,
    );
  const body = createGunzip({ chunkSize: UNPACKED_CHUNK_BYTES });
  // Bounds received bytes separately: empty gzip members decompress to nothing, without end.
  response.on("data", (chunk: Buffer) => {
    progress.bytes += chunk.byteLength;
    if (progress.bytes > maxBytes) body.destroy(tooLarge(reading, "received"));
  });
  return pipeline(response, body, () => undefined);
}

function tooLarge({ target, maxBytes }: Reading, what: string): ScrapeError {
  return new ScrapeError("too_large", `${target.url} must have at most ${maxBytes} bytes ${what}, got more`);
}
