// Reads flow plans from the scheduler-plugin's leader on demand, and sends the nodes' reports back.
import { reasonOf, parseJson } from "@isochrone/primitives";
import type { Clock, Fetch, FetchAnswer } from "@isochrone/runtime";
import { parseFlowPlans, type FlowPlan } from "@isochrone/topology";
import type { AppliedPlan, FlowPlanSource } from "../http/flow-plan-route.ts";
import { AggregatorError } from "../ports/errors.ts";
import { readBounded } from "./bounded-body.ts";

interface HttpFlowPlansOptions {
  readonly baseUrl: string | null;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** @default the platform's fetch */
  readonly fetch?: Fetch;
}

/** Younger plans are served from the cache. */
const FRESH_MS = 500;
/** Plans that were not confirmed for this long are dropped. */
const STALE_MS = 5_000;
/** Requests per reading. Each may reach another replica, and only the leader answers. */
const ATTEMPTS = 4;
const PATH = "/api/v1/flow-plans";

interface KnownPlans {
  readonly etag: string | null;
  readonly byNode: ReadonlyMap<string, FlowPlan>;
  /** Monotonic time of the last answer that confirmed the plans, ms. */
  confirmedMs: number;
}

export class HttpFlowPlans implements FlowPlanSource {
  readonly #options: HttpFlowPlansOptions;
  readonly #applied = new Map<string, AppliedPlan>();
  #known: KnownPlans | null = null;
  #reading: Promise<void> | null = null;
  #trouble = "they were not read yet";

  constructor(options: HttpFlowPlansOptions) {
    this.#options = options;
  }

  async plans(): Promise<ReadonlyMap<string, FlowPlan>> {
    const { baseUrl } = this.#options;
    if (baseUrl === null)
      throw new AggregatorError(
        "decisions_off",
        "no scheduler-plugin is configured (aggregator.decisionsUrl)",
      );
    if (this.#ageMs() >= FRESH_MS) {
      this.#reading ??= this.#read(baseUrl).finally(() => (this.#reading = null));
      await this.#reading;
    }
    if (this.#known !== null && this.#ageMs() < STALE_MS) return this.#known.byNode;
    throw new AggregatorError("flow_plan_stale", `flow plans are not known: ${this.#trouble}`);
  }

  /** The last plans; null before the first reading. Starts a new reading if they are missing or old. */
  get known(): ReadonlyMap<string, FlowPlan> | null {
    if (this.#options.baseUrl !== null && this.#ageMs() >= STALE_MS) void this.plans().catch(() => undefined);
    return this.#known?.byNode ?? null;
  }

  applied(plan: AppliedPlan): void {
    this.#applied.set(plan.node, plan);
  }

  #ageMs(): number {
    return this.#known === null ? Infinity : this.#options.clock.monotonic() - this.#known.confirmedMs;
  }

  /** Never rejects. */
  async #read(baseUrl: string): Promise<void> {
    const url = baseUrl.replace(/\/$/, "") + PATH;
    const { clock, timeoutMs } = this.#options;
    const timeout = new AbortController();
    const done = new AbortController();
    void clock.sleep(timeoutMs, done.signal).then(
      () => timeout.abort(),
      () => undefined,
    );
    try {
      await this.#tell(url, timeout.signal);
      await this.#get(url, timeout.signal);
    } catch (error) {
      this.#trouble = reasonOf(error);
    } finally {
      done.abort();
    }
  }

  async #tell(url: string, signal: AbortSignal): Promise<void> {
    if (this.#applied.size === 0) return;
    const told = [...this.#applied.values()];
    const response = await this.#ask(`${url}/applied`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ applied: told }),
      signal,
    });
    await response.body?.cancel();
    if (!response.ok) return;
    for (const plan of told) if (this.#applied.get(plan.node) === plan) this.#applied.delete(plan.node);
  }

  async #get(url: string, signal: AbortSignal): Promise<void> {
    const etag = this.#known?.etag ?? null;
    const headers = { accept: "application/json", ...(etag === null ? {} : { "if-none-match": etag }) };
    const response = await this.#ask(url, { headers, signal });
    const confirmedMs = this.#options.clock.monotonic();
    if (response.status === 304 && this.#known !== null) {
      this.#known.confirmedMs = confirmedMs;
      return;
    }
    if (!response.ok) {
      await response.body?.cancel();
      this.#trouble = `the scheduler-plugin answers ${response.status}`;
      return;
    }
    const parsed = parseFlowPlans(parseJson((await readBounded(response)).toString()));
    this.#known = {
      etag: response.headers.get("etag"),
      byNode: new Map(parsed.map((plan) => [plan.node, plan])),
      confirmedMs,
    };
  }

  async #ask(url: string, init: Parameters<Fetch>[1]): Promise<FetchAnswer> {
    const ask: Fetch = this.#options.fetch ?? fetch;
    for (let attempt = 1; ; attempt++) {
      const response = await ask(url, { ...init, redirect: "error" });
      if (response.status !== 503 || attempt === ATTEMPTS) return response;
      await response.body?.cancel();
    }
  }
}
