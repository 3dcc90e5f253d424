import { decodeHeaders, HEADERS, TOPICS } from "@isochrone/telemetry";
import { transcodeJson } from "@isochrone/telemetry/otlp-json";
import { HttpError, installBodyLimits } from "@isochrone/runtime/http";
import { TRACEPARENT_HEADER } from "@isochrone/runtime/tracing";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Readable } from "node:stream";

import { reasonOf } from "@isochrone/primitives";
import { BusError } from "../../ports/errors.ts";
import { DROPPED_HEADER } from "../../ports/port.ts";
import type { OutgoingRecord, Publisher } from "../../ports/port.ts";
import { BodyEncodingError, BodyTooLargeError, readBody } from "./read-body.ts";
import { checkStructure, KEY_HEADER, routeForeign, TOPIC_HEADER } from "./routing.ts";
import type { Routed } from "./routing.ts";
import { JSON_TYPE, PROTOBUF, sendExportResponse, sendStatus } from "./answers.ts";
import type { PartialSuccess } from "./wire.ts";

/** Refusal reasons; a metric label. */
const INGEST_REFUSALS = [
  "unauthorized",
  "not_yours",
  "media_type",
  "encoding",
  "too_large",
  "bad_headers",
  "malformed",
  "slow",
  "overloaded",
  "unavailable",
] as const;
type IngestRefusal = (typeof INGEST_REFUSALS)[number];

/** Verified speaker of the request's records, or the reason for a refusal. */
export type SpokenFor = { readonly speaker: string } | { readonly refused: string };

export interface OtlpHttpIngestOptions {
  readonly publisher: Publisher;
  /** Topics that a sender may name. @default metric topics of design §4 */
  readonly topics?: readonly string[];
  /** Maximum size of a body as received. @default 4 MiB */
  readonly maxBodyBytes?: number;
  /** Maximum size after decompression. @default 16 MiB */
  readonly maxDecompressedBytes?: number;
  /** Checks the bearer token (null: none) before the body is read. @default accepts all: only for loopback */
  readonly authorize?: (
    token: string | null,
    request: { readonly remoteAddress: string },
  ) => boolean | Promise<boolean>;
  /**
   * Returns the verified speaker before the body is read.
   * @param source as the records state it, untrusted; null: none @default records carry no speaker
   */
  readonly speakerOf?: (request: FastifyRequest, source: string | null) => SpokenFor;
  /** Adds a proof of origin, for a bus that others can write to. @default none: only the speaker */
  readonly seal?: (topic: string, record: OutgoingRecord, speaker: string) => OutgoingRecord;
  /** Finds points that the receiver will reject, and reports them to the sender (partial success). */
  readonly inspect?: (value: Uint8Array, topic: string) => PartialSuccess | undefined;
  readonly onRefused?: (reason: IngestRefusal, message: string, remoteAddress: string) => void;
}

/** A Fastify instance with any type provider; their types are mutually incompatible. */
interface IngestHost {
  register(...plugin: never[]): unknown;
}

/** Bounds time and memory: parsed JSON takes about ten times the bytes of its text. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;
const MAX_HEADER_CHARACTERS = 256;
const DEFAULT_RETRY_AFTER_MS = 1_000;
const RECORD_HEADERS = [
  HEADERS.source,
  HEADERS.epoch,
  HEADERS.sequence,
  HEADERS.sentAt,
  DROPPED_HEADER,
  TRACEPARENT_HEADER,
];
/** google.rpc.Code by HTTP status. */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  408: 4,
  413: 3,
  415: 3,
  429: 8,
  503: 14,
};

class Refusal extends Error {
  readonly statusCode: number;
  readonly reason: IngestRefusal;
  readonly retryAfterMs: number | undefined;

  constructor(statusCode: number, reason: IngestRefusal, message: string, retryAfterMs?: number) {
    super(message);
    this.statusCode = statusCode;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Mounts `POST /v1/metrics` (OTLP/HTTP, protobuf or JSON) on the app and publishes its records. */
export function otlpHttpIngest(app: IngestHost, options: OtlpHttpIngestOptions): void {
  const endpoint = new IngestEndpoint(options);
  void (app as unknown as FastifyInstance).register(async (scope) => {
    // The scope keeps the app's own parsers and error format elsewhere.
    scope.removeAllContentTypeParsers();
    // Apps of the runtime have a memory budget for all bodies.
    if (!scope.hasRequestDecorator("bodyLease"))
      installBodyLimits(scope, { totalBytes: endpoint.bodyBudgetBytes });
    scope.addContentTypeParser(PROTOBUF, (request: FastifyRequest, payload: Readable) =>
      endpoint.read(request, payload),
    );
    scope.addContentTypeParser(JSON_TYPE, (request: FastifyRequest, payload: Readable) =>
      endpoint.readJson(request, payload),
    );
    scope.setErrorHandler((error: FastifyError, request, reply) => endpoint.refuse(error, request, reply));
    scope.route({
      method: "POST",
      url: "/v1/metrics",
      bodyLimit: endpoint.maxBodyBytes,
      // Runs before the body is read, so that unauthorized clients cannot make us buffer it.
      onRequest: (request) => endpoint.authorize(request),
      handler: (request, reply) => endpoint.accept(request, reply),
    });
  });
}

class IngestEndpoint {
  readonly maxBodyBytes: number;
  readonly #options: OtlpHttpIngestOptions;
  readonly #topics: ReadonlySet<string>;
  readonly #maxDecompressedBytes: number;

  constructor(options: OtlpHttpIngestOptions) {
    this.#options = options;
    this.#topics = new Set(options.topics ?? Object.values(TOPICS));
    this.maxBodyBytes = options.maxBodyBytes ?? 4 * 1024 * 1024;
    this.#maxDecompressedBytes = options.maxDecompressedBytes ?? 16 * 1024 * 1024;
  }

  /** Bytes: two maximum bodies, each compressed, in chunks and as a whole. */
  get bodyBudgetBytes(): number {
    return 2 * (this.maxBodyBytes + 2 * this.#maxDecompressedBytes);
  }

  async authorize(request: FastifyRequest): Promise<void> {
    const { authorize } = this.#options;
    if (!authorize) {
      this.#speakerOf(request);
      return;
    }
    const [, token = null] = /^Bearer +([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? "") ?? [];
    if (await authorize(token, { remoteAddress: request.ip })) {
      this.#speakerOf(request);
      return;
    }
    throw new Refusal(
      401,
      "unauthorized",
      token === null ? "a bearer token is required" : "the bearer token is not accepted",
    );
  }

  /** Converts a JSON body to protobuf, the only format that later steps read. */
  async readJson(request: FastifyRequest, payload: Readable): Promise<Uint8Array> {
    const bytes = await this.read(request, payload, Math.min(MAX_JSON_BYTES, this.#maxDecompressedBytes));
    try {
      return transcodeJson(bytes);
    } catch (error) {
      throw new Refusal(400, "malformed", notARequest(error));
    }
  }

  async read(
    request: FastifyRequest,
    payload: Readable,
    maxUnpackedBytes: number = this.#maxDecompressedBytes,
  ): Promise<Uint8Array> {
    const encoding = (request.headers["content-encoding"] ?? "identity").toLowerCase();
    const isGzip = encoding === "gzip";
    if (!isGzip && encoding !== "identity" && encoding !== "") {
      throw new Refusal(
        415,
        "encoding",
        `content-encoding must be gzip or identity, got ${encoding.slice(0, 100)}`,
      );
    }
    if (Number(request.headers["content-length"] ?? 0) > this.maxBodyBytes) throw this.#tooLarge(false);
    const maxBytes = isGzip ? this.maxBodyBytes : Math.min(this.maxBodyBytes, maxUnpackedBytes);
    try {
      return await readBody(payload, { isGzip, maxBytes, maxUnpackedBytes, lease: request.bodyLease });
    } catch (error) {
      if (error instanceof BodyTooLargeError)
        throw this.#tooLarge(error.isUnpacked, error.isUnpacked ? maxUnpackedBytes : maxBytes);
      if (error instanceof BodyEncodingError) throw new Refusal(400, "malformed", error.message);
      throw error;
    }
  }

  #tooLarge(isUnpacked: boolean, bytes = this.maxBodyBytes): Refusal {
    const what = isUnpacked ? "decompressed body" : "body";
    return new Refusal(413, "too_large", `the ${what} must be at most ${bytes} bytes`);
  }

  async accept(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const routed = this.#route(request, bodyOf(request));
    let partial: PartialSuccess | undefined;
    const speaker = this.#speakerOf(request);
    for (const { topic, record } of routed) {
      partial = combine(partial, this.#options.inspect?.(record.value, topic));
      await this.#publish(topic, speaker === null ? record : this.#spoken(topic, record, speaker));
    }
    return sendExportResponse(reply.code(200), request, partial);
  }

  /** Null: not checked. */
  #speakerOf(request: FastifyRequest): string | null {
    const { speakerOf } = this.#options;
    if (speakerOf === undefined) return null;
    const spoken = speakerOf(request, headerOf(request, HEADERS.source) ?? null);
    if ("refused" in spoken) throw new Refusal(403, "not_yours", spoken.refused);
    return spoken.speaker;
  }

  #spoken(topic: string, record: OutgoingRecord, speaker: string): OutgoingRecord {
    const spoken = { ...record, headers: { ...record.headers, [HEADERS.speaker]: speaker } };
    return this.#options.seal?.(topic, spoken, speaker) ?? spoken;
  }

  refuse(error: FastifyError | Refusal, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const refusal = error instanceof Refusal ? error : this.#refusalOf(error, request);
    this.#options.onRefused?.(refusal.reason, refusal.message, request.ip);
    if (refusal.retryAfterMs !== undefined)
      reply.header("retry-after", Math.max(1, Math.ceil(refusal.retryAfterMs / 1000)));
    if (refusal.statusCode === 401) reply.header("www-authenticate", "Bearer");
    reply.code(refusal.statusCode);
    if (refusal.statusCode === 415) {
      // Senders of neither format get problem+json.
      const problem = {
        type: "about:blank",
        title: "Unsupported Media Type",
        status: 415,
        detail: refusal.message,
      };
      return reply.type("application/problem+json").send(JSON.stringify(problem));
    }
    return sendStatus(reply, request, RPC_CODES[refusal.statusCode] ?? 2, refusal.message);
  }

  /** Maps web server errors. Unexpected errors stay unexplained to the sender. */
  #refusalOf(error: FastifyError, request: FastifyRequest): Refusal {
    if (error instanceof HttpError) return bodyRefusal(error);
    if (error.statusCode === 413) return this.#tooLarge(false);
    if (error.statusCode === 415) {
      const got = request.headers["content-type"] ?? "none";
      return new Refusal(
        415,
        "media_type",
        `content-type must be ${PROTOBUF} or ${JSON_TYPE}, got ${got.slice(0, 100)}`,
      );
    }
    if (error.statusCode !== undefined && error.statusCode < 500)
      return new Refusal(400, "malformed", "the request could not be read");
    request.log.error({ err: error }, "metrics ingest failed");
    return new Refusal(
      503,
      "unavailable",
      "the metrics could not be taken, try again",
      DEFAULT_RETRY_AFTER_MS,
    );
  }

  #route(request: FastifyRequest, body: Uint8Array): Routed[] {
    const headers = this.#recordHeaders(request);
    const topic = headerOf(request, TOPIC_HEADER);
    if (topic !== undefined && !this.#topics.has(topic)) {
      throw new Refusal(
        400,
        "bad_headers",
        `header ${TOPIC_HEADER} must be one of ${[...this.#topics].join(", ")}, got ${topic.slice(0, 100)}`,
      );
    }
    try {
      if (topic === undefined && headers[HEADERS.source] === undefined)
        return routeForeign(body, request.ip, headers);
      checkStructure(body);
    } catch (error) {
      throw new Refusal(400, "malformed", notARequest(error));
    }
    // One body becomes one record; a split would repeat its sequence.
    const key = decodeKey(headerOf(request, KEY_HEADER)) ?? headers[HEADERS.source] ?? request.ip;
    const named = topic ?? routeForeign(body, key, headers)[0]?.topic ?? TOPICS.usage;
    return [{ topic: named, record: { key, value: body, headers } }];
  }

  #recordHeaders(request: FastifyRequest): Record<string, string> {
    const headers: Record<string, string> = { [HEADERS.contentType]: PROTOBUF };
    for (const name of RECORD_HEADERS) {
      const value = headerOf(request, name);
      if (value !== undefined) headers[name] = value;
    }
    try {
      decodeHeaders(headers);
    } catch (error) {
      throw new Refusal(400, "bad_headers", reasonOf(error));
    }
    return headers;
  }

  async #publish(topic: string, record: Routed["record"]): Promise<void> {
    try {
      await this.#options.publisher.publish(topic, [record]);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      if (error.code === "too_large") throw new Refusal(413, "too_large", error.message);
      const waitMs = error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS;
      if (error.retryable)
        throw new Refusal(429, "overloaded", "the bus is overloaded, try again later", waitMs);
      // The bus closes when the server restarts, so a retry may succeed.
      throw new Refusal(503, "unavailable", "the bus is not available", waitMs);
    }
  }
}

function notARequest(error: unknown): string {
  return `the body is not an ExportMetricsServiceRequest: ${reasonOf(error)}`;
}

function bodyOf({ body }: FastifyRequest): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array(0);
}

function bodyRefusal({ status, message }: HttpError): Refusal {
  if (status === 408) return new Refusal(408, "slow", message);
  if (status === 503) return new Refusal(429, "overloaded", message, DEFAULT_RETRY_AFTER_MS);
  return new Refusal(400, "malformed", message);
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.length <= MAX_HEADER_CHARACTERS) return value;
  throw new Refusal(
    400,
    "bad_headers",
    `header ${name} must come once, with at most ${MAX_HEADER_CHARACTERS} characters`,
  );
}

function decodeKey(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    throw new Refusal(400, "bad_headers", `header ${KEY_HEADER} must be percent-encoded UTF-8`);
  }
}

function combine(a: PartialSuccess | undefined, b: PartialSuccess | undefined): PartialSuccess | undefined {
  if (!a || !b) return a ?? b;
  return {
    rejectedDataPoints: a.rejectedDataPoints + b.rejectedDataPoints,
    message: `${a.message}; ${b.message}`,
  };
}
