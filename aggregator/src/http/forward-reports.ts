import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { parseKeyReport, type KeyReport } from "../keys/domain/key-reports.ts";
import type { LeaderForward } from "./forward.ts";
import { NoQuery } from "./query.ts";

/** Where the leader takes reports that probes gave to other replicas. */
const KEY_REPORTS_PATH = "/api/v1/probe-key-reports";

const MAX_REPORTS_PER_REQUEST = 2_000;

const ReportsBody = Type.Object(
  {
    reports: Type.Array(
      Type.Object({
        node: Type.String({ minLength: 1, maxLength: 253 }),
        /** As in the header of the probe's request; null: it said nothing of keys. */
        keys: Type.Union([Type.String({ maxLength: 256 }), Type.Null()]),
      }),
      { maxItems: MAX_REPORTS_PER_REQUEST },
    ),
  },
  { additionalProperties: false },
);
type ReportsBody = Static<typeof ReportsBody>;

/** How reports are passed on. */
interface ReportRelayOptions {
  readonly forward: LeaderForward;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long reports are gathered. @default 1000 */
  readonly intervalMs?: number;
  /**
   * A report that found no leader for so long is not worth passing on: its probe has reported again.
   * @default 60000
   */
  readonly maxAgeMs?: number;
  /** Nodes whose report may wait; the longest waiting one goes first. @default 20000 */
  readonly maxNodes?: number;
}

interface Waiting {
  readonly keys: string | null;
  readonly atMs: number;
}

const DEFAULTS = { intervalMs: 1_000, maxAgeMs: 60_000, maxNodes: 20_000 };

/**
 * What probes say of their keys, passed on to the leader, which alone replaces keys. The newest report of
 * each node waits for the next round. Nothing waits for the leader: a report that is lost comes again with
 * the probe's next request.
 */
export class ReportRelay implements Service {
  readonly #options: ReportRelayOptions & typeof DEFAULTS;
  readonly #loop: Periodic;
  /** Longest waiting first. */
  readonly #waiting = new Map<string, Waiting>();
  #dropped = 0;

  constructor(options: ReportRelayOptions) {
    this.#options = { ...DEFAULTS, ...options };
    const { clock, intervalMs, logger } = this.#options;
    this.#loop = periodic({
      clock,
      intervalMs,
      run: (signal) => this.#flush(signal),
      onError: (error) => logger.warnOnce("key-reports", "passing on key reports failed", { error }),
    });
  }

  /** Nodes whose report waits. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Reports that were given up. */
  get dropped(): number {
    return this.#dropped;
  }

  /** @param report null: the probe asked for its plan and said nothing of keys */
  offer(node: string, report: KeyReport | null): void {
    if (this.#options.forward.isHere()) return;
    this.#put(node, {
      keys: report === null ? null : `${report.heldKeyIds.join()};signing=${report.signingKeyId}`,
      atMs: this.#options.clock.monotonic(),
    });
  }

  async start(): Promise<void> {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #flush(signal: AbortSignal): Promise<void> {
    const { forward } = this.#options;
    // Whoever leads has what it was told itself, and its own reports.
    if (forward.isHere()) this.#waiting.clear();
    this.#dropOld();
    while (this.#waiting.size > 0 && !signal.aborted) {
      const batch = [...this.#waiting].slice(0, MAX_REPORTS_PER_REQUEST);
      const reports = batch.map(([node, { keys }]) => ({ node, keys }));
      if (!(await forward.tell(KEY_REPORTS_PATH, { reports }))) return;
      // What has come meanwhile is newer, and stays.
      for (const [node, sent] of batch) if (this.#waiting.get(node) === sent) this.#waiting.delete(node);
    }
  }

  #put(node: string, report: Waiting): void {
    this.#waiting.delete(node);
    this.#waiting.set(node, report);
    if (this.#waiting.size > this.#options.maxNodes) this.#drop(this.#waiting.keys().next().value!);
  }

  #dropOld(): void {
    const oldestMs = this.#options.clock.monotonic() - this.#options.maxAgeMs;
    for (const [node, { atMs }] of this.#waiting) {
      if (atMs > oldestMs) return;
      this.#drop(node);
    }
  }

  #drop(node: string): void {
    this.#waiting.delete(node);
    this.#dropped += 1;
  }
}

/** Takes reports of probes. */
interface ReportTaker {
  readonly isKnown: (node: string) => boolean;
  readonly onReport: (node: string, report: KeyReport | null) => void;
}

/** `POST /api/v1/probe-key-reports`, between replicas. */
export function registerKeyReportsRoute(
  app: FastifyInstance,
  taker: ReportTaker,
  forward: LeaderForward,
): void {
  app.post<{ Body: ReportsBody }>(
    KEY_REPORTS_PATH,
    { schema: { hide: true, body: ReportsBody, querystring: NoQuery } },
    (request, reply) => {
      if (!forward.isHere()) return forward.refuse(reply);
      for (const { node, keys } of request.body.reports) {
        const report = keys === null ? null : parsedOrUndefined(keys);
        if (report !== undefined && taker.isKnown(node)) taker.onReport(node, report);
      }
      return reply.code(204).send();
    },
  );
}

/** One bad report must not cost the others of its request. */
function parsedOrUndefined(keys: string): KeyReport | undefined {
  try {
    return parseKeyReport(keys);
  } catch {
    return undefined;
  }
}
