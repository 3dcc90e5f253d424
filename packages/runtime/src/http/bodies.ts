// Bodies occupy memory before they can be checked. All bodies of a server share a byte budget, and each must
// arrive at a least rate.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { IncomingMessage } from "node:http";
import { Transform, type Readable, type TransformCallback } from "node:stream";
import { clientKey } from "./addresses.ts";
import { BodyBudget, type BodyLease } from "./body-budget.ts";
import type { HttpRefusal } from "./http-metrics.ts";
import { HttpError } from "./problem.ts";
import { streamOf } from "./request-socket.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Budget held by this request's body, null without one. Decompression takes more. */
    bodyLease: BodyLease | null;
  }
}

interface BodyLimits {
  readonly totalBytes: number;
  /** Time allowed for a body besides its bytes at the least rate. @default 5000 */
  readonly graceMs?: number | undefined;
  /** Time after which a route must have answered, even if its client has gone. @default 30000 */
  readonly handlerTimeoutMs?: number | undefined;
  readonly onRefused?: (reason: HttpRefusal) => void;
}

const DEFAULT_GRACE_MS = 5_000;
const DEFAULT_HANDLER_TIMEOUT_MS = 30_000;
/** Slow lines are faster; below it, the largest body would exceed the request timeout. */
const LEAST_BYTES_PER_SECOND = 4096;
const MOST_CHECK_MS = 500;
const SMALL_BODY_BYTES = 16 * 1024;
const PIECES_BYTES = 1024 * 1024;

export function installBodyLimits(app: FastifyInstance, limits: BodyLimits): void {
  const { totalBytes, handlerTimeoutMs = DEFAULT_HANDLER_TIMEOUT_MS, onRefused = () => undefined } = limits;
  const budget = new BodyBudget(totalBytes, () => onRefused("body_budget"));
  const arriving = new ArrivingBodies(limits.graceMs ?? DEFAULT_GRACE_MS, () => onRefused("slow_body"));
  app.decorateRequest("bodyLease", null);
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (!hasBody(request)) return done(null, payload);
    const lease = budget.open(clientKey(request));
    request.bodyLease = lease;
    const [counted, body] = countedBody(request, payload, lease);
    arriving.add(counted);
    reply.raw.on("close", () => {
      arriving.delete(counted);
      if (!lease.isOpen) return;
      if (!counted.isComplete || reply.raw.writableEnded) return lease.release();
      // A route may go on using a body whose client has left.
      const timer = setTimeout(() => lease.release(), handlerTimeoutMs);
      timer.unref();
    });
    return done(null, body);
  });
  app.addHook("preValidation", (request, _reply, done) => {
    const { bodyLease } = request;
    if (bodyLease === null || !isSmall(request) || !hasOwnSocket(request)) return done();
    try {
      bodyLease.take(declaredBytes(request));
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return done(error);
    }
    return done();
  });
  app.addHook("onClose", async () => arriving.close());
}

function hasBody(request: FastifyRequest): boolean {
  return declaredBytes(request) !== 0;
}

/** NaN: the client does not declare the length, as with chunks or HTTP/2. */
function declaredBytes({ headers, raw }: FastifyRequest): number {
  if (headers["transfer-encoding"] !== undefined) return Number.NaN;
  const isOpen = streamOf(raw)?.endAfterHeaders === false;
  return Number(headers["content-length"] ?? (isOpen ? Number.NaN : 0));
}

const JSON_BODY = /^application\/json(?:[\s;]|$)/i;

/** Fastify reads JSON into a string or buffer, and subscribes in the tick of this hook. */
function isReadByFastify({ headers }: FastifyRequest): boolean {
  return JSON_BODY.test(headers["content-type"] ?? "");
}

function isSmall(request: FastifyRequest): boolean {
  return isReadByFastify(request) && declaredBytes(request) <= SMALL_BODY_BYTES;
}

/** HTTP/2 streams share a socket, whose byte count tells nothing about one of them. */
function hasOwnSocket({ raw }: FastifyRequest): boolean {
  return streamOf(raw) === null;
}

function countedBody(request: FastifyRequest, payload: Readable, lease: BodyLease): [ArrivingBody, Readable] {
  if (isSmall(request) && hasOwnSocket(request)) return [new SmallBody(request.raw), payload];
  if (isReadByFastify(request)) return [new WatchedBody(payload, lease), payload];
  const body = new CountedBody(payload, lease);
  return [body, body];
}

interface ArrivingBody {
  readonly receivedBytes: number;
  ageMs: number;
  readonly isComplete: boolean;
  fail(error: HttpError): void;
}

/** Counted when complete: listening to chunks takes a tenth of a short request. Bounded by connections. */
class SmallBody implements ArrivingBody {
  readonly #source: IncomingMessage;
  readonly #bytesBefore: number;
  ageMs = 0;

  constructor(source: IncomingMessage) {
    this.#source = source;
    this.#bytesBefore = source.socket.bytesRead;
  }

  get receivedBytes(): number {
    return this.#source.socket.bytesRead - this.#bytesBefore;
  }

  get isComplete(): boolean {
    return this.#source.readableEnded;
  }

  fail(error: HttpError): void {
    // Nobody listens if the answer preceded the body.
    if (this.#source.listenerCount("error") > 0) this.#source.emit("error", error);
  }
}

/** Counts a body while fastify reads it: a stream in between would take as long as a small request. */
class WatchedBody implements ArrivingBody {
  readonly #source: Readable;
  #hasFailed = false;
  receivedBytes = 0;
  ageMs = 0;

  constructor(source: Readable, lease: BodyLease) {
    this.#source = source;
    const giveWay = (error: HttpError): void => this.fail(error);
    lease.giveWay = giveWay;
    source.on("data", (chunk: Buffer) => {
      if (!lease.isOpen || this.#hasFailed) return;
      this.receivedBytes += chunk.length;
      try {
        lease.take(chunk.length);
      } catch (error) {
        this.fail(error as HttpError);
      }
    });
    // The reader has handled it; after an early answer there is none.
    source.on("error", () => undefined);
    source.once("end", () => {
      if (lease.giveWay === giveWay) lease.giveWay = null;
    });
  }

  get isComplete(): boolean {
    return this.#source.readableEnded;
  }

  /** Fastify answers; the rest is read so that the client gets to the answer. */
  fail(error: HttpError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#source.emit("error", error);
  }
}

class CountedBody extends Transform implements ArrivingBody {
  readonly #lease: BodyLease;
  readonly #giveWay: (error: HttpError) => void;
  receivedBytes = 0;
  ageMs = 0;

  constructor(source: Readable, lease: BodyLease) {
    // Readers take all at once, so backpressure after each chunk would only cost time.
    super({ highWaterMark: PIECES_BYTES });
    this.#lease = lease;
    this.#giveWay = (error) => this.fail(error);
    lease.giveWay = this.#giveWay;
    this.on("error", () => undefined);
    source.on("error", (error) => this.destroy(error));
    source.once("close", () => {
      if (!source.readableEnded)
        this.destroy(new HttpError(400, "aborted", "the request ended before its body was complete"));
    });
    source.pipe(this);
    // The rest of a refused body is read so that its client gets to the answer.
    this.once("close", () => {
      if (!source.readableEnded) source.unpipe(this).resume();
    });
  }

  get isComplete(): boolean {
    return this.readableEnded;
  }

  fail(error: HttpError): void {
    this.destroy(error);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, taken: TransformCallback): void {
    if (!this.#lease.isOpen) return taken();
    try {
      this.#lease.take(chunk.length);
    } catch (error) {
      return taken(error as HttpError);
    }
    this.receivedBytes += chunk.length;
    return taken(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    // A complete body is with its route, unless it is still being decompressed.
    if (this.#lease.giveWay === this.#giveWay) this.#lease.giveWay = null;
    done();
  }
}

class ArrivingBodies {
  readonly #graceMs: number;
  readonly #onSlow: () => void;
  readonly #bodies = new Set<ArrivingBody>();
  readonly #timer: NodeJS.Timeout;

  constructor(graceMs: number, onSlow: () => void) {
    this.#graceMs = graceMs;
    this.#onSlow = onSlow;
    const checkMs = Math.min(MOST_CHECK_MS, Math.ceil(graceMs / 2));
    this.#timer = setInterval(() => this.#check(checkMs), checkMs);
    this.#timer.unref();
  }

  add(body: ArrivingBody): void {
    this.#bodies.add(body);
  }

  delete(body: ArrivingBody): void {
    this.#bodies.delete(body);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(sinceMs: number): void {
    for (const body of this.#bodies) {
      if (body.isComplete) {
        this.#bodies.delete(body);
        continue;
      }
      body.ageMs += sinceMs;
      const mayTakeMs = this.#graceMs + (body.receivedBytes / LEAST_BYTES_PER_SECOND) * 1000;
      if (body.ageMs <= mayTakeMs) continue;
      this.#onSlow();
      const rule = `a body must arrive within ${this.#graceMs} ms and at ${LEAST_BYTES_PER_SECOND} bytes/s beyond`;
      const detail = `${rule}, got ${body.receivedBytes} bytes in ${body.ageMs} ms`;
      this.#bodies.delete(body);
      body.fail(new HttpError(408, "slow_body", detail));
    }
  }
}
