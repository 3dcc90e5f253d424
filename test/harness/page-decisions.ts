// Stands in for a scheduler-plugin with a placed pod, a proposed move and stream jobs.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Act, ActList, Decision, DecisionList, Savings, SavingsOption } from "@isochrone/topology";

/** Pod name of workload `cart` in the page's testbed. */
export const POD = "cart-7d4b9c6f58-x2x2x";
export const SLOW_JOB = "site/gate";

const AT = "2026-01-01T00:00:00Z";

const DECISION: Decision = {
  id: "of-cart",
  kind: "plan",
  plan: "the-plan",
  at: AT,
  pod: { namespace: "shop", name: POD },
  workflow: "shop/shop",
  workload: "cart",
  strategy: "resource-network",
  mode: "normalized",
  inputs: { clusterVersion: 1, clusterAgeSeconds: 1, workflowVersion: 1, workflowAgeSeconds: 1 },
  explanation: ["The network part decided for node-0006."],
  best: "node-0006",
  candidates: ["node-0006", "node-0001"].map((name, index) => ({
    name,
    feasible: true,
    reason: null,
    raw: index,
    score: 100 - index * 50,
    parts: { network: index },
  })),
};

const podOf = (name: string, decision: string | null): Act["pods"][number] => ({
  name,
  workload: name.split("-")[0]!,
  decision,
  from: null,
  to: "node-0006",
  node: "node-0006",
  state: "bound",
});

const PLAN: Act = {
  id: "the-plan",
  kind: "plan",
  at: AT,
  namespace: "shop",
  workflow: "shop/shop",
  workloads: ["front", "cart", "store"],
  pods: [podOf("front-1", null), podOf(POD, DECISION.id), podOf("store-1", null)],
  planned: 3,
  expected: null,
  counted: null,
  verdict: "kept",
  sentence: "Kept: all 3 pods are on their nodes.",
  because: null,
};

const ACTING: NonNullable<ActList["acting"]> = {
  planner: false,
  descheduler: "dry-run",
  dryRun: {
    at: AT,
    halt: null,
    moves: 1,
    pods: [
      {
        namespace: "shop",
        name: POD,
        from: "node-0006",
        to: "node-0001",
        detail: "its channels cost a third there",
      },
    ],
  },
};

const cost = (network: number) => ({ network, pressure: 0, total: network });
const PROPOSAL = {
  id: "better",
  at: AT,
  workflow: "shop/shop",
  explanation: ["One move is better than none."],
  today: cost(100),
  cost: cost(20),
  savedRatio: 0.8,
  gain: 80,
  gainError: 8,
  perRequest: { todayMs: 40, bestMs: 8, errorMs: 4 },
  pods: [
    {
      name: POD,
      workload: "cart",
      from: "node-0006",
      node: "node-0001",
      step: 1,
      gain: 80,
      gainError: 8,
      obstacle: null,
    },
  ],
};

const option = (savedPerMonth: number, reason: string | null): SavingsOption => ({
  savedPerMonth,
  roundTripMs: 3,
  roundTripChangeMs: -1.234,
  zones: 2,
  headroomRatio: 0.25,
  isAdvised: reason === null,
  reason,
  services: ["shop/api"],
  moves: [],
  commands: reason === null ? ["kubectl patch"] : [],
});

export const SAVINGS: Savings = {
  observedAt: AT,
  currency: "EUR",
  monthSeconds: 2_628_000,
  trouble: null,
  leftOut: 0,
  lines: [
    {
      kind: "service",
      namespace: "shop",
      name: "api",
      workflow: "flow",
      perMonth: 24,
      roundTripMs: 5,
      routing: option(12, null),
      moves: option(-3, "it would cost more"),
      both: option(12, "one of both alone saves as much"),
    },
  ],
};

const job = (name: string, framesPerSecond: number) => ({
  namespace: "site",
  name,
  phase: "Running",
  framesPerSecond,
  measuredFramesPerSecond: null,
  minThroughput: null,
  limit: { kind: "task", task: "detect", node: "node-0001" },
  waits: null,
  tasks: [{ name: "detect", node: "node-0001", secondsPerFrame: 1 / framesPerSecond }],
  flows: [],
});

function answerTo({ pathname, searchParams }: URL): object {
  switch (pathname) {
    case "/api/v1/acts": {
      const workload = searchParams.get("workload") ?? "";
      const isFound = PLAN.pods.some(({ name }) => name.includes(workload));
      return { acts: isFound ? [PLAN] : [], leftOut: 0, isCut: false, acting: ACTING } satisfies ActList;
    }
    case "/api/v1/decisions":
      return { decisions: [DECISION] } satisfies DecisionList;
    case "/api/v1/plans":
      return { plans: searchParams.get("kind") === "proposal" ? [PROPOSAL] : [] };
    case "/api/v1/savings":
      return SAVINGS;
    case "/api/v1/flow-plans":
      return { plans: [] };
    default:
      return { jobs: [job("yard", 8), job("gate", 2)] };
  }
}

export async function serveDecisions(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    const body = JSON.stringify(answerTo(new URL(request.url!, "http://plugin")));
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
