import { boundedBody, withDeadline, type Clock, type Fetch } from "@isochrone/runtime";
import { HealthSchema, type Health, type ReplicaHealth } from "@isochrone/topology";
import { Compile } from "typebox/compile";
import { reasonOf } from "@isochrone/primitives";
import type { Replica } from "../replication/replicas.ts";

/** How other replicas are asked how they are. */
interface ReplicaHealthsOptions {
  readonly replicas: { liveReplicas(): readonly Replica[] };
  /** Name of this one. */
  readonly replica: string;
  readonly clock: Clock;
  /**
   * E.g. one that sends this replica's token where no client's is passed on.
   * @default the platform's fetch
   */
  readonly fetch?: Fetch;
  /** For an answer, body included. @default 2000 */
  readonly timeoutMs?: number;
}

const HEALTH_PATH = "/api/v1/health";
/** More than anybody runs; what is beyond them is left out. */
const MAX_REPLICAS = 32;
const MAX_ANSWER_BYTES = 256 * 1024;

const health = Compile(HealthSchema);

/** Each replica reads its own partitions and knows no others': who wants to see all asks all. */
export class ReplicaHealths {
  readonly #options: ReplicaHealthsOptions;
  /** Under way, by who asks: many who ask at once are one. */
  readonly #asking = new Map<string, Promise<ReplicaHealth[]>>();

  constructor(options: ReplicaHealthsOptions) {
    this.#options = options;
  }

  /**
   * What the others that are alive say of themselves, by name; of those that can't be asked, why. Never
   * rejects.
   * @param authorization of the client, so that each replica can see who asks
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

/** A replica's own words about it. */
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
