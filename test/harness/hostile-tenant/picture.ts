import { request as httpsRequest } from "node:https";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { authorizedFetch, systemClock, type Fetch } from "@isochrone/runtime";
import type { ClusterGraphSnapshot, ProbePlan, WorkflowGraphSnapshot } from "@isochrone/topology";
import { nodeNameOf } from "../control-plane/index.ts";
import { processUse } from "../../soak/proc.ts";
import { NODES, VICTIM, WORKFLOW, type ClientFiles, type HostileTestbed } from "./testbed.ts";

const TIMEOUT_MS = 10_000;
const EVERY_MS = 400;
/** Number of equal pictures in a row that counts as stable. */
const STEADY = 25;
/** Allows the window of the graphs to fill. */
const STEADY_WITHIN_MS = 100_000;
/** Rates vary with the arrival times of records. */
const STEP_BYTES_PER_SECOND = 50_000;
const ROUND_MS = 2;

export interface Picture {
  readonly workflow: unknown;
  readonly links: unknown;
  readonly nodes: unknown;
  readonly filter: unknown;
  readonly scores: unknown;
  readonly plans: unknown;
  readonly probePlans: unknown;
  readonly descheduler: unknown;
  readonly objects: unknown;
}

export class Observer {
  readonly #testbed: HostileTestbed;
  readonly #fetch: Fetch;
  readonly #probeTokens: readonly string[];
  readonly #pictures = new Map<string, Picture>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  readonly faults: string[] = [];
  largestRssBytes = 0;

  private constructor(testbed: HostileTestbed, fetch: Fetch, probeTokens: readonly string[]) {
    this.#testbed = testbed;
    this.#fetch = fetch;
    this.#probeTokens = probeTokens;
  }

  static async open(testbed: HostileTestbed): Promise<Observer> {
    const [ca, token] = [await testbed.trustedCa(), await testbed.readerToken()];
    const plain = authorizedFetch({ ca: () => ca, clock: systemClock });
    const fetch: Fetch = (url, init) =>
      plain(url, { ...init, headers: { authorization: `Bearer ${token}`, ...init?.headers } });
    return new Observer(
      testbed,
      fetch,
      await Promise.all(NODES.map((node) => testbed.podToken("probe", node))),
    );
  }

  /** @param headers in addition to the reader's token, or instead of it */
  async graph<T>(path: string, headers: Readonly<Record<string, string>> = {}): Promise<T> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await this.#fetch(this.#testbed.aggregator.url + path, { signal, headers });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  asked<T>(method: string, path: string, body?: unknown): Promise<T> {
    return askExtender(
      this.#testbed.plugin.url,
      this.#testbed.kubeScheduler,
      method,
      path,
      body,
    ) as Promise<T>;
  }

  async picture(): Promise<Picture> {
    const { cluster } = this.#testbed;
    const pods = await cluster.list("pods", { namespace: VICTIM });
    const pod = pods.find(({ metadata }) => metadata.labels?.["app"] === "api")!;
    const question = { Pod: pod, NodeNames: NODES };
    const [graph, workflow, filter, scores, report, plans, probePlans] = await Promise.all([
      this.graph<ClusterGraphSnapshot>("/api/v1/graph/cluster"),
      this.graph<WorkflowGraphSnapshot>(`/api/v1/graph/workflows/${VICTIM}/${WORKFLOW}`),
      this.asked<Record<string, unknown>>("POST", "/scheduler/filter", question),
      this.asked<unknown>("POST", "/scheduler/prioritize", question),
      this.asked<{ halt: unknown; pods: ReportedShown[] }>("GET", "/api/v1/descheduler"),
      Promise.all(
        ["plan", "proposal"].map((kind) =>
          this.asked<{ plans: PlanShown[] }>("GET", `/api/v1/plans?kind=${kind}&namespace=${VICTIM}`),
        ),
      ),
      Promise.all(this.#probeTokens.map((token, at) => this.#probePlan(NODES[at]!, token))),
    ]);
    return {
      workflow: workflowShown(workflow),
      links: graph.links.map(linkShown).sort(),
      nodes: graph.nodes.map(({ name, ready, zone }) => [name, ready, zone]),
      filter: filter["FailedNodes"],
      scores,
      plans: plans.flatMap((list) =>
        list.plans.flatMap((plan) => plan.pods.map(({ name, node }) => `${name} ${node}`)).sort(),
      ),
      probePlans,
      descheduler: {
        halt: report.halt,
        pods: report.pods
          .filter(({ namespace }) => namespace === VICTIM)
          .map(({ name, node, target, decision }) => `${name} ${node} ${target} ${decision}`)
          .sort(),
      },
      objects: pods.map(objectShown).sort(),
    };
  }

  /** Resolves when the picture is stable and complete. @param isPlanned whether to wait for a plan */
  async steady({ isPlanned }: { readonly isPlanned: boolean }): Promise<Picture> {
    let same = 0;
    let last = "";
    let picture: Picture | null = null;
    const shown = (): string => `nothing changes any more, ${same} equal pictures; the last: ${last}`;
    await until(
      shown,
      async () => {
        picture = null;
        const text = await this.picture().then((taken) => JSON.stringify((picture = taken)), String);
        same = text === last && isWhole(picture, isPlanned) ? same + 1 : 0;
        last = text;
        return same >= STEADY;
      },
      STEADY_WITHIN_MS,
    );
    return picture!;
  }

  /** Captures pictures until stopped, to see transient changes. */
  watch(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  get pictures(): readonly Picture[] {
    return [...this.#pictures.values()];
  }

  /** Waits until the graphs of aggregator and scheduler-plugin include everything created so far. */
  async settled(marker: string, namespace: string): Promise<void> {
    const isShown = async (): Promise<boolean> => {
      const path = `/api/v1/graph/workflows/${namespace}/markers`;
      const graph = await this.graph<WorkflowGraphSnapshot>(path).catch(() => null);
      return graph?.workloads.some(({ pods }) => pods.some(({ name }) => name === marker)) === true;
    };
    await until(`${marker} is in a graph`, isShown);
    // The first read may see the new state and the next one the old state, so wait for two.
    await this.#pluginHasRead();
    await this.#pluginHasRead();
    await this.#take();
  }

  async #pluginHasRead(): Promise<void> {
    const sinceMs = Date.now();
    await until("the scheduler-plugin has read the graphs", async () => {
      const page = await (await this.#testbed.plugin.get("/metrics")).text();
      const age = /^isochrone_scheduler_graph_age_seconds\{graph="cluster"\} (\S+)$/m.exec(page)?.[1];
      return Date.now() - Number(age) * 1_000 > sinceMs;
    });
  }

  /** Returns the targets and addresses of the node's probe. */
  async #probePlan(node: string, token: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${token}` };
    const plan = await this.graph<ProbePlan>(`/api/v1/probe-plan/${node}`, headers);
    return [node, plan.signingKeyId, plan.peers];
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#take();
      await systemClock.sleep(EVERY_MS, signal).catch(() => undefined);
    }
  }

  async #take(): Promise<void> {
    const pid = this.#testbed.aggregator.pid;
    const use = pid === null ? null : processUse(pid);
    if (use !== null) this.largestRssBytes = Math.max(this.largestRssBytes, use.rssBytes);
    try {
      const picture = await this.picture();
      this.#pictures.set(JSON.stringify(picture), picture);
    } catch (error) {
      this.faults.push(String(error));
    }
  }
}

function isWhole(picture: Picture | null, isPlanned: boolean): boolean {
  if (picture === null) return false;
  const { filter, scores, plans, descheduler } = picture;
  const values = new Set((scores as { Score: number }[]).map(({ Score }) => Score));
  const shown = JSON.stringify(descheduler);
  return (
    Object.keys(filter as object).length > 0 &&
    values.size > 1 &&
    (!isPlanned || (plans as unknown[]).length > 0) &&
    shown.split('"worker-').length === 3
  );
}

interface PlanShown {
  readonly pods: readonly { readonly name: string; readonly node: string | null }[];
}

interface ReportedShown {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly target: string | null;
  readonly decision: string;
}

function workflowShown({ workloads, channels }: WorkflowGraphSnapshot): unknown {
  return {
    workloads: workloads.map(({ namespace, name, kind, pods }) => [
      namespace,
      name,
      kind,
      pods.map((pod) => `${pod.name} ${pod.node}`).sort(),
    ]),
    channels: channels.map((channel) => {
      const { bytesPerSecond, requestsPerSecond, observedAt: _observedAt, ...rest } = channel as Channel;
      const { ageSeconds: _age, ...stable } = rest as Record<string, unknown>;
      const rate = bytesPerSecond === null ? null : Math.round(bytesPerSecond / STEP_BYTES_PER_SECOND);
      return { ...stable, rate, hasRequests: requestsPerSecond !== null };
    }),
  };
}

type Channel = WorkflowGraphSnapshot["channels"][number] & { readonly observedAt?: unknown };

function linkShown(link: ClusterGraphSnapshot["links"][number]): string {
  const { source, target, method, origin, lossRatio, rttMs, costMs } = link;
  const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms / ROUND_MS));
  return [source, target, method, origin, lossRatio, rounded(rttMs.p50), rounded(costMs)].join(" ");
}

/** An evicted pod's replacement has another name. */
function objectShown(pod: KubernetesObject): string {
  return `${pod.metadata.name} ${pod.metadata.uid} ${nodeNameOf(pod)}`;
}

async function askExtender(
  url: string,
  { ca, cert, key }: Pick<ClientFiles, "ca"> & Partial<ClientFiles>,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const { status, text } = await answerOf(url + path, { ca, cert, key }, method, body);
  if (status !== 200) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as unknown;
}

export function answerOf(
  url: string,
  files: { readonly ca: string; readonly cert?: string | undefined; readonly key?: string | undefined },
  method: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const { ca, cert, key } = files;
    const pair = cert === undefined ? {} : { cert, key };
    const sent = httpsRequest(
      url,
      {
        method,
        ca,
        ...pair,
        agent: false,
        timeout: TIMEOUT_MS,
        headers: { "content-type": "application/json" },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.on("error", reject);
      },
    );
    sent.on("timeout", () => sent.destroy(new Error(`${method} ${url} is not answered`)));
    sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const UNTIL_MS = 40_000;
const ASK_EVERY_MS = 100;

export async function until(
  what: string | (() => string),
  check: () => Promise<boolean>,
  withinMs = UNTIL_MS,
): Promise<void> {
  for (const deadlineMs = Date.now() + withinMs; !(await check()); await systemClock.sleep(ASK_EVERY_MS))
    if (Date.now() > deadlineMs)
      throw new Error(`not within ${withinMs} ms: ${typeof what === "string" ? what : what()}`);
}
