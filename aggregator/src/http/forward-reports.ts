import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { parseKeyReport, type KeyReport } from "../keys/domain/key-reports.ts";
import type { LeaderForward } from "./forward.ts";
import { NoQuery } from "./query.ts";

/** Endpoint of the leader for reports that other replicas received. */
const KEY_REPORTS_PATH = "/api/v1/probe-key-reports";

const MAX_REPORTS_PER_REQUEST = 2_000;

const ReportsBody = Type.Object(
  {
    reports: Type.Array(
      Type.Object({
        node: Type.String({ minLength: 1, maxLength: 253 }),
        keys: Type.Union([Type.String({ maxLength: 256 }), Type.Null()]),
      }),
      { maxItems: MAX_REPORTS_PER_REQUEST },
    ),
  },
  { additionalProperties: false },
);
type ReportsBody = Static<typeof ReportsBody>;

interface ReportRelayOptions {
  readonly forward: LeaderForward;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Interval of forwarding. @default 1000 */
  readonly intervalMs?: number;
  /** Older reports are dropped, because the probe has reported again. @default 60000 */
  readonly maxAgeMs?: number;
  /** Maximum number of nodes with a queued report; the oldest is dropped first. @default 20000 */
  readonly maxNodes?: number;
}

interface Waiting {
  readonly keys: string | null;
  readonly atMs: number;
}

const DEFAULTS = { intervalMs: 1_000, maxAgeMs: 60_000, maxNodes: 20_000 };

/**
 * Forwards probes' key reports to the leader, which alone rotates keys. Queues the newest report per node. No
 * request waits for the leader: a lost report is repeated with the probe's next request.
 */
export class ReportRelay implements Service {
  readonly #options: ReportRelayOptions & typeof DEFAULTS;
  readonly #loop: Periodic;
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

  get waiting(): number {
    return this.#waiting.size;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** @param report null: the probe sent no key report */
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
    // The leader already has its own reports.
    if (forward.isHere()) this.#waiting.clear();
    this.#dropOld();
    while (this.#waiting.size > 0 && !signal.aborted) {
      const batch = [...this.#waiting].slice(0, MAX_REPORTS_PER_REQUEST);
      const reports = batch.map(([node, { keys }]) => ({ node, keys }));
      if (!(await forward.tell(KEY_REPORTS_PATH, { reports }))) return;
      // Keep reports that arrived meanwhile.
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

interface ReportTaker {
  readonly isKnown: (node: string) => boolean;
  readonly onReport: (node: string, report: KeyReport | null) => void;
}

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

/** An invalid report must not invalidate the others. */
function parsedOrUndefined(keys: string): KeyReport | undefined {
  try {
    return parseKeyReport(keys);
  } catch {
    return undefined;
  }
}
