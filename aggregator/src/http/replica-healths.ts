import { boundedBody, withDeadline, type Clock, type Fetch } from "@isochrone/runtime";
import { HealthSchema, type Health, type ReplicaHealth } from "@isochrone/topology";
import { Compile } from "typebox/compile";
import { reasonOf } from "@isochrone/primitives";
import type { Replica } from "../replication/replicas.ts";

interface ReplicaHealthsOptions {
  readonly replicas: { liveReplicas(): readonly Replica[] };
  readonly replica: string;
  readonly clock: Clock;
  /** May add this replica's token if the client sent none. @default the platform's fetch */
  readonly fetch?: Fetch;
  /** Timeout including the body. @default 2000 */
  readonly timeoutMs?: number;
}

const HEALTH_PATH = "/api/v1/health";
const MAX_REPLICAS = 32;
const MAX_ANSWER_BYTES = 256 * 1024;

const health = Compile(HealthSchema);

/** Queries all replicas, because each knows only its own health. */
export class ReplicaHealths {
  readonly #options: ReplicaHealthsOptions;
  /** Requests under way by client, so that concurrent ones are merged. */
  readonly #asking = new Map<string, Promise<ReplicaHealth[]>>();

  constructor(options: ReplicaHealthsOptions) {
    this.#options = options;
  }

  /**
   * Never rejects.
   * @param authorization the client's header, to authorize it
   */
  others(authorization: string | undefined): Promise<ReplicaHealth[]> {
    const who = authorization ?? "";
    let asking = this.#asking.get(who);
    if (asking === undefined) {
      asking = this.#askAll(authorization).finally(() => this.#asking.delete(who));
      this.#asking.set(who, asking);
    }
    return asking;
  }

  async #askAll(authorization: string | undefined): Promise<ReplicaHealth[]> {
    const { replicas, replica } = this.#options;
    const others = replicas.liveReplicas().filter(({ name }) => name !== replica);
    return Promise.all(others.slice(0, MAX_REPLICAS).map((other) => this.#ask(other, authorization)));
  }

  async #ask({ name, url }: Replica, authorization: string | undefined): Promise<ReplicaHealth> {
    const { clock, timeoutMs = 2_000 } = this.#options;
    try {
      if (url === null || !/^https?:$/.test(new URL(url).protocol))
        throw new Error("its Lease names no address");
      const said = await withDeadline(clock, timeoutMs, "an answer", (signal) =>
        this.#fetch(new URL(HEALTH_PATH, url), authorization, signal),
      );
      return ofHealth(name, said);
    } catch (error) {
      return {
        ...NOTHING_KNOWN,
        replica: name,
        problem: reasonOf(error),
      };
    }
  }

  async #fetch(url: URL, authorization: string | undefined, signal: AbortSignal): Promise<Health> {
    const ask: Fetch = this.#options.fetch ?? fetch;
    const response = await ask(url.href, {
      headers: authorization === undefined ? {} : { authorization },
      signal,
      redirect: "error",
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`it answered ${response.status}`);
    }
    const text = await boundedBody(response, MAX_ANSWER_BYTES, () => new Error("its answer is too long"));
    const answer: unknown = JSON.parse(text.toString());
    if (!health.Check(answer)) throw new Error("its answer is of another version");
    return answer;
  }
}

export function ofHealth(
  replica: string,
  { ready, version, graphAgeSeconds, replicas: { isLeader, lag } }: Health,
): ReplicaHealth {
  return { replica, problem: null, ready, isLeader, version, graphAgeSeconds, lag };
}

const NOTHING_KNOWN = {
  ready: null,
  isLeader: null,
  version: null,
  graphAgeSeconds: null,
  lag: [],
} as const satisfies Partial<ReplicaHealth>;
