// Bodies are in memory before anybody can tell what is in them. All bodies of a server share one budget of
// bytes, and each has to arrive at a least rate.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Transform, type Readable, type TransformCallback } from "node:stream";
import { clientKey } from "./addresses.ts";
import { BodyBudget, type BodyLease } from "./body-budget.ts";
import type { HttpRefusal } from "./http-metrics.ts";
import { HttpError } from "./problem.ts";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * What the body of this request holds of the server's budget; null without a body. Whoever unpacks it
     * takes more.
     */
    bodyLease: BodyLease | null;
  }
}

/** How bodies are bounded. */
interface BodyLimits {
  /** Of all bodies together, unpacked ones included. */
  readonly totalBytes: number;
  /** For a body to arrive, beside the time that its bytes get by the least rate. @default 5000 */
  readonly graceMs?: number | undefined;
  /** After which a route has answered, whatever became of its client. @default 30000 */
  readonly handlerTimeoutMs?: number | undefined;
  readonly onRefused?: (reason: HttpRefusal) => void;
}

const DEFAULT_GRACE_MS = 5_000;
const DEFAULT_HANDLER_TIMEOUT_MS = 30_000;
/**
 * A client on a bad line sends more; at less, a body of the largest size would take longer than any request
 * may.
 */
const LEAST_BYTES_PER_SECOND = 4096;
const MOST_CHECK_MS = 500;
const PIECES_BYTES = 1024 * 1024;

/** Counts every body that the app reads against the budget, and ends those that come too slowly. */
export function installBodyLimits(app: FastifyInstance, limits: BodyLimits): void {
  const { totalBytes, handlerTimeoutMs = DEFAULT_HANDLER_TIMEOUT_MS, onRefused = () => undefined } = limits;
  const budget = new BodyBudget(totalBytes, () => onRefused("body_budget"));
  const arriving = new ArrivingBodies(limits.graceMs ?? DEFAULT_GRACE_MS, () => onRefused("slow_body"));
  app.decorateRequest("bodyLease", null);
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (!hasBody(request)) return done(null, payload);
    const lease = budget.open(clientKey(request));
    request.bodyLease = lease;
    const [counted, body] = isReadByFastify(request)
      ? [new WatchedBody(payload, lease), payload]
      : countedStream(payload, lease);
    arriving.add(counted);
    reply.raw.once("close", () => {
      if (!counted.isComplete) return lease.release();
      if (!lease.isOpen) return;
      // A route goes on working with a body whose client has left.
      const timer = setTimeout(() => lease.release(), handlerTimeoutMs);
      timer.unref();
    });
    return done(null, body);
  });
  app.addHook("onSend", (request, _reply, payload, done) => {
    request.bodyLease?.release();
    done(null, payload);
  });
  app.addHook("onClose", async () => arriving.close());
}

function hasBody({ headers }: FastifyRequest): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

const JSON_BODY = /^application\/json(?:[\s;]|$)/i;

/** fastify reads JSON into a text or a buffer, and listens to the stream in the tick of this hook. */
function isReadByFastify({ headers }: FastifyRequest): boolean {
  return JSON_BODY.test(headers["content-type"] ?? "");
}

function countedStream(source: Readable, lease: BodyLease): [CountedBody, Readable] {
  const body = new CountedBody(source, lease);
  return [body, body];
}

/** A body on its way, as the check of slow ones sees it. */
interface ArrivingBody {
  readonly receivedBytes: number;
  /** By the checks that it has been through. */
  ageMs: number;
  readonly isComplete: boolean;
  fail(error: HttpError): void;
  once(event: "end" | "close", listener: () => void): unknown;
}

/**
 * Counts a body while fastify reads it. A stream in between would take as long as the answer to a small
 * request.
 */
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
      // What still comes after the answer is thrown away.
      if (!lease.isOpen || this.#hasFailed) return;
      this.receivedBytes += chunk.length;
      try {
        lease.take(chunk.length);
      } catch (error) {
        this.fail(error as HttpError);
      }
    });
    // Whoever reads has heard of it; after an early answer nobody does.
    source.on("error", () => undefined);
    source.once("end", () => {
      if (lease.giveWay === giveWay) lease.giveWay = null;
    });
  }

  get isComplete(): boolean {
    return this.#source.readableEnded;
  }

  once(event: "end" | "close", listener: () => void): void {
    this.#source.once(event, listener);
  }

  /** Tells fastify, which answers. The rest is read on, so that the client gets to the answer. */
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
    // Readers take all at once: pausing the socket after each of its pieces would only cost time.
    super({ highWaterMark: PIECES_BYTES });
    this.#lease = lease;
    this.#giveWay = (error) => this.fail(error);
    lease.giveWay = this.#giveWay;
    // Whoever reads has heard of it; after an early answer nobody does.
    this.on("error", () => undefined);
    source.on("error", (error) => this.destroy(error));
    source.once("close", () => {
      if (!source.readableEnded)
        this.destroy(new HttpError(400, "aborted", "the request ended before its body was complete"));
    });
    source.pipe(this);
    // The rest of a body that is refused is read on, so that its client gets to the answer.
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
    // What still comes after the answer is thrown away.
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
    // Complete, it is with its route, unless that still unpacks it.
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
    body.once("end", () => this.#bodies.delete(body));
    body.once("close", () => this.#bodies.delete(body));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(sinceMs: number): void {
    for (const body of this.#bodies) {
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
