// Responses with hostile names, which no store accepts, replace real ones on the way to the page.
import type {
  Act,
  ActList,
  Decision,
  Health,
  Peer,
  Rtt,
  WorkflowGraphSnapshot,
  WorkflowList,
} from "@isochrone/topology";
import type { Page, Route } from "playwright-core";

/** Markup, quotes, templates, JavaScript property names, text direction marks, and overlong text. */
export const EVIL: readonly string[] = [
  "<img src=x onerror=globalThis.hit=1>",
  '"><script>globalThis.hit=1</script>',
  "abc\u202Eexe.txt",
  'it\'s & "quoted" {{7*7}} ${7*7}',
  "__proto__",
  "شبكة-سريعة",
  "רשת/../<b>",
  "constructor",
  "javascript:alert(1)",
  `${"very-long-".repeat(25)}end`,
];

const at = (index: number): string => EVIL[index % EVIL.length]!;
const NOW = (): string => new Date(Date.now() - 3_000).toISOString();

function workflowGraph(namespace: string, name: string, nodes: readonly string[]): WorkflowGraphSnapshot {
  const channel = (source: string, target: string) => ({
    source,
    target,
    bytesPerSecond: 5_000,
    requestsPerSecond: 12,
    errorRatio: 0.02,
    priority: null,
    maxNetworkCost: null,
    minBandwidthBitsPerSecond: null,
    origin: "observed",
  });
  return {
    version: 1,
    observedAt: NOW(),
    namespace,
    name,
    workloads: EVIL.map((workload, index) => ({
      name: workload,
      namespace,
      kind: at(index + 1),
      cpuMillicores: 12,
      memoryBytes: 1e8,
      pods: [{ name: `${workload}-1`, node: nodes[index % nodes.length] ?? null }],
    })),
    channels: EVIL.slice(1).map((target) => channel(EVIL[0]!, target)),
  } as unknown as WorkflowGraphSnapshot;
}

function decision(index: number, nodes: readonly string[]): Decision {
  const candidates = nodes.map((name, place) => ({
    name,
    feasible: place !== 1,
    reason: place === 1 ? at(index) : null,
    raw: place,
    score: 100 - place * 10,
    parts: { network: place, resources: 1, [at(index)]: 2 },
    networkMs: place * 10,
  }));
  const rtt = (place: number, ms: number): Rtt => (place === 2 ? "unreachable" : ms * place);
  const peer = (ms: number): Peer => ({
    workload: at(index + 2),
    calling: index % 2 === 0,
    node: nodes[0] ?? "none",
    pods: 2,
    requestsPerSecond: 5,
    bytesPerSecond: null,
    rttMs: Object.fromEntries(nodes.map((name, place) => [name, rtt(place, ms)])),
  });
  const inputs = { clusterVersion: 1, clusterAgeSeconds: 1, workflowVersion: 1, workflowAgeSeconds: null };
  return {
    id: `evil-${index}`,
    kind: (["score", "plan", "eviction"] as const)[index % 3]!,
    at: NOW(),
    pod: { namespace: at(index), name: at(index + 1) },
    workflow: `${at(index)}/${at(index + 2)}`,
    workload: at(index + 3),
    strategy: at(index),
    mode: at(index + 1),
    inputs,
    explanation: [`Because of ${at(index)}.`, at(index + 1)],
    best: nodes[0] ?? null,
    candidates,
    asked: candidates.length,
    binding: {
      state: index % 2 === 0 ? "bound" : "gone",
      node: nodes[3] ?? null,
      at: NOW(),
      agreement: "otherwise",
      cause: "other_scores",
      reason: `Not there: ${at(index + 3)}.`,
    },
    peers: [peer(10)],
    now: {
      at: NOW(),
      inputs,
      explanation: [at(index)],
      best: nodes[1] ?? null,
      candidates,
      peers: [peer(40)],
      links: [],
      changes: [`The link ${at(index)} to ${at(index + 1)} took 2 ms then and takes 82 ms now.`],
    },
    outcome: { at: NOW(), result: at(index + 4), node: nodes[0] ?? null, reason: at(index + 5) },
  };
}

/** Builds an act whose pod is that of its decision. */
function act(index: number, nodes: readonly string[]): Act {
  const { id, pod, workload, workflow, at: when } = decision(index, nodes);
  const [from = null, to = null] = nodes;
  const made = {
    name: pod.name,
    workload,
    decision: id,
    from,
    to,
    node: at(index + 6),
    state: at(index + 7),
  };
  return {
    id,
    kind: "move",
    at: when,
    namespace: pod.namespace,
    workflow,
    workloads: [workload ?? ""],
    pods: [made],
    planned: 1,
    expected: { beforeMs: 9, afterMs: 5, gainRatio: 0.4, gainErrorRatio: null },
    counted: null,
    verdict: "failed",
    sentence: `Failed: landed elsewhere, on ${at(index + 6)}.`,
    because: at(index + 2),
  };
}

const PROPOSED = {
  today: { network: 900_000, pressure: 100, total: 900_100 },
  savedRatio: 0.444,
  gain: 400_000,
  gainError: 20_000,
  perRequest: { todayMs: 9, bestMs: 5, errorMs: 0.5 },
};

function plans(query: URLSearchParams, nodes: readonly string[]) {
  const cost = { network: 500_000, pressure: 100, total: 500_100 };
  const isProposal = query.get("kind") === "proposal";
  const plan = {
    id: "evil-plan",
    at: NOW(),
    workflow: `${at(0)}/${at(1)}`,
    durationMs: 3,
    cost,
    ...(isProposal ? { ...PROPOSED } : {}),
    lowerBound: null,
    pods: EVIL.map((name, index) => ({
      name,
      workload: at(index + 1),
      node: nodes[index % nodes.length] ?? null,
      from: nodes[0],
      reason: null,
      decision: isProposal ? null : `evil-${index}`,
      ...(isProposal
        ? { step: index + 1, gain: 40_000, gainError: 2_000, obstacle: index === 0 ? at(index + 2) : null }
        : {}),
    })),
    explanation: [`Because of ${at(0)}.`, at(2)],
  };
  return { plans: [plan] };
}

function healthOf(health: Health): Health {
  const lag = EVIL.slice(0, 3).map((topic, index) => ({ topic, partition: String(index), records: 4 }));
  const replica = { problem: null, ready: true, isLeader: true, version: 1, graphAgeSeconds: 1, lag };
  return {
    ...health,
    ready: false,
    reasons: [at(0), at(1)],
    intake: { ...health.intake, refused: { [at(0)]: 1, __proto__: 2 }, unused: { [at(1)]: 3 } },
    clocks: EVIL.map((source, index) => ({ source, skewSeconds: index })),
    replicas: {
      replica: at(0),
      live: 2,
      isLeader: true,
      lag,
      all: [
        { ...replica, replica: at(0) },
        { ...replica, replica: at(5), problem: at(1), ready: null, lag: [] },
      ],
    },
  };
}

/** Replaces the page's responses from now on. @param nodes as known to the page */
export async function answerHostilely(page: Page, nodes: readonly string[]): Promise<void> {
  const json = (route: Route, value: unknown): Promise<void> => route.fulfill({ json: value });
  await page.route("**/api/v1/graph/workflows", (route) =>
    json(route, {
      version: 1,
      observedAt: NOW(),
      workflows: EVIL.map((name, index) => ({
        namespace: at(index + 9),
        name,
        workloads: EVIL.length,
        pods: EVIL.length,
        channels: EVIL.length - 1,
      })),
    } satisfies WorkflowList),
  );
  await page.route("**/api/v1/graph/workflows/**", (route) => {
    const [namespace, name] = new URL(route.request().url()).pathname.split("/").slice(-2);
    return json(route, workflowGraph(decodeURIComponent(namespace!), decodeURIComponent(name!), nodes));
  });
  await page.route("**/api/v1/decisions**", (route) =>
    json(route, { decisions: EVIL.map((_, index) => decision(index, nodes)) }),
  );
  await page.route("**/api/v1/acts**", (route) =>
    json(route, {
      acts: EVIL.map((_, index) => act(index, nodes)),
      leftOut: 0,
      isCut: false,
    } satisfies ActList),
  );
  await page.route("**/api/v1/plans**", (route) =>
    json(route, plans(new URL(route.request().url()).searchParams, nodes)),
  );
  await page.route("**/api/v1/health**", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: healthOf((await response.json()) as Health) });
  });
}
