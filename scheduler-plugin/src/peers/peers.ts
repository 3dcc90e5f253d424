// Pulls the other replicas' newest decisions and plans every second and before each answer. So all replicas
// answer alike, and records outlive the replica that made them.
import { boundedBody, periodic, withDeadline } from "@isochrone/runtime";
import type { Clock, Fetch, Logger, Periodic, Service } from "@isochrone/runtime";
import type { PeerMetrics } from "./metrics.ts";
import type { PeerAddress, PeerAddresses } from "./peer-addresses.ts";
import { parsePage } from "./record-wire.ts";
import type { Page } from "./record-wire.ts";
import { MAX_PAGE_BYTES } from "./shared-records.ts";
import type { SharedRecords } from "./shared-records.ts";

/** Header of a forwarded question, which must be answered here. */
export const FORWARDED = "isochrone-forwarded";
export const RECORDS_PATH = "/api/v1/replica-records";

interface PeersOptions {
  readonly addresses: Pick<PeerAddresses, "peers" | "isSynced">;
  readonly records: SharedRecords;
  readonly isLeader: () => boolean;
  readonly fetch: Fetch;
  readonly metrics: PeerMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface LeaderAnswer {
  readonly contentType: string;
  readonly body: Buffer;
}

const INTERVAL_MS = 1_000;
const ANSWER_WITHIN_MS = 200;
/** Timeout of one page: after a restart there are many records to copy. */
const PAGE_WITHIN_MS = 2_000;
/** Pause after a failure, so that answers don't wait for a hanging replica. */
const PAUSE_MS = 1_000;
/** Bound per pull, so that a replica that always has more doesn't monopolise this one. */
const MAX_PAGES = 20;
const LEADER_WITHIN_MS = 3_000;
const MAX_LEADER_BYTES = 16 * 1024 * 1024;
const NOT_LISTED = "(not listed yet)";

interface Link {
  readonly peer: PeerAddress;
  cursor: string;
  leads: boolean;
  /** Monotonic; 0 = never. */
  answeredMs: number;
  pausedUntilMs: number;
  running: Promise<boolean> | null;
  /** Begins when `running` ends. */
  next: Promise<boolean> | null;
}

export class Peers implements Service {
  readonly #options: PeersOptions;
  readonly #links = new Map<string, Link>();
  readonly #loop: Periodic;
  readonly #stopped = new AbortController();

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#loop = periodic({
      clock: options.clock,
      intervalMs: INTERVAL_MS,
      immediate: true,
      run: () => {
        // Not awaited, so a hanging replica doesn't delay the others.
        for (const link of this.#current()) if (!this.#isPaused(link)) void this.#pull(link);
      },
      onError: (error) => options.logger.warnOnce("peers", "other replicas can't be asked", { error }),
    });
  }

  start(): Promise<void> {
    this.#loop.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop.stop();
    await Promise.all(Array.from(this.#links.values(), async ({ running }) => running));
  }

  async refresh(): Promise<string[]> {
    const { addresses, clock, metrics } = this.#options;
    const links = this.#current();
    const pulls = links.map(async (link) => !this.#isPaused(link) && (await this.#pull(link)));
    const answered = links.map(() => false);
    const all = Promise.all(pulls.map(async (pull, at) => void (answered[at] = await pull)));
    await withDeadline(clock, ANSWER_WITHIN_MS, "other replicas", () => all).catch(() => undefined);
    const silent = links.filter((_, at) => !answered[at]).map(({ peer }) => peer.name);
    if (!addresses.isSynced) silent.push(NOT_LISTED);
    if (silent.length > 0) metrics.incomplete.inc();
    return silent;
  }

  /** Sends a GET request to the leader. Null if this replica leads, or the leader didn't answer. */
  async askLeader(pathAndQuery: string): Promise<LeaderAnswer | null> {
    const { isLeader, clock, fetch, records } = this.#options;
    if (isLeader()) return null;
    const leading = this.#current().filter(({ leads }) => leads);
    const leader = leading.toSorted((a, b) => b.answeredMs - a.answeredMs)[0];
    if (leader === undefined || this.#isPaused(leader)) return null;
    try {
      return await withDeadline(clock, LEADER_WITHIN_MS, "the leader's answer", async (signal) => {
        const response = await fetch(leader.peer.url + pathAndQuery, {
          headers: { accept: "application/json", [FORWARDED]: records.replica },
          signal: AbortSignal.any([signal, this.#stopped.signal]),
          redirect: "error",
        });
        const body = await boundedBody(response, MAX_LEADER_BYTES, () => new Error("too long"));
        const contentType = response.headers.get("content-type") ?? "";
        return response.status === 200 && contentType.startsWith("application/json")
          ? { contentType, body }
          : null;
      });
    } catch {
      this.#pause(leader);
      return null;
    }
  }

  #current(): Link[] {
    const links = this.#options.addresses.peers().map((peer) => {
      const key = `${peer.name} ${peer.url}`;
      const link = this.#links.get(key) ?? newLink(peer);
      this.#links.set(key, link);
      return link;
    });
    const current = new Set(links);
    for (const [key, link] of this.#links)
      if (!current.has(link) && link.running === null) this.#links.delete(key);
    return links;
  }

  #isPaused({ pausedUntilMs }: Link): boolean {
    return this.#options.clock.monotonic() < pausedUntilMs;
  }

  #pause(link: Link): void {
    link.pausedUntilMs = this.#options.clock.monotonic() + PAUSE_MS;
  }

  /** Each caller gets a pull that begins after the call; pulls never overlap. Never rejects. */
  #pull(link: Link): Promise<boolean> {
    if (link.running === null) return this.#begin(link);
    return (link.next ??= link.running.then(() => {
      link.next = null;
      return link.running === null && !this.#isPaused(link) ? this.#begin(link) : false;
    }));
  }

  #begin(link: Link): Promise<boolean> {
    link.running = this.#copyAll(link).finally(() => (link.running = null));
    return link.running;
  }

  async #copyAll(link: Link): Promise<boolean> {
    const { metrics, logger, clock, records } = this.#options;
    try {
      for (let pages = 0; pages < MAX_PAGES; pages++) {
        const page = await this.#ask(link);
        if (page === null) {
          metrics.pulls.inc({ outcome: "invalid" });
          break;
        }
        metrics.pulls.inc({ outcome: "answered" });
        // An address without a pod name may be this replica's own.
        if (page.life === records.life) return true;
        const { copied, refused } = records.take(page);
        metrics.records.inc({ outcome: "copied" }, copied);
        metrics.records.inc({ outcome: "refused" }, refused);
        link.cursor = page.cursor;
        link.leads = page.leads;
        link.answeredMs = clock.monotonic();
        if (!page.more) return true;
      }
    } catch (error) {
      if (this.#stopped.signal.aborted) return false;
      metrics.pulls.inc({ outcome: "failed" });
      logger.warnOnce(`peers:${link.peer.name}`, "another replica gives no answer, trying again", {
        replica: link.peer.name,
        error,
      });
    }
    this.#pause(link);
    return false;
  }

  /** Returns null if the answer is malformed. Rejects on timeout. */
  async #ask({ peer, cursor }: Link): Promise<Page | null> {
    const { fetch, clock, records } = this.#options;
    const query = new URLSearchParams({ after: cursor, by: records.life });
    return withDeadline(clock, PAGE_WITHIN_MS, "another replica's answer", async (signal) => {
      const response = await fetch(`${peer.url}${RECORDS_PATH}?${query.toString()}`, {
        headers: { accept: "application/json" },
        signal: AbortSignal.any([signal, this.#stopped.signal]),
        redirect: "error",
      });
      const tooLong = (): Error => new Error(`the answer has more than ${MAX_PAGE_BYTES} bytes`);
      const body = await boundedBody(response, MAX_PAGE_BYTES, tooLong);
      if (response.status !== 200) throw new Error(`the replica answers ${response.status}`);
      return parsePage(body.toString());
    });
  }
}

function newLink(peer: PeerAddress): Link {
  return { peer, cursor: "", leads: false, answeredMs: 0, pausedUntilMs: 0, running: null, next: null };
}
