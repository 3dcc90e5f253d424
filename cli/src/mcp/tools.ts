import type { GraphClient } from "@isochrone/topology/client";
import { Type, type Static, type TObject } from "typebox";
import { judgeFreshness } from "../doctor/freshness.ts";
import { findDecision, unaskedSentence } from "../explain/find-decision.ts";

export interface Sources {
  readonly client: GraphClient;
  readonly server: string;
}

export interface Tool<S extends TObject = TObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: S;
  readonly askForLess: string;
  /** Rejects with a message for the model. */
  call(sources: Sources, input: Static<S>, signal: AbortSignal): Promise<unknown>;
}

const MAX_NAME = 253;
const DEFAULT_LIMIT = 100;
const ONLY_THESE = { additionalProperties: false } as const;

const name = (description: string) => Type.String({ minLength: 1, maxLength: MAX_NAME, description });
const limit = (what: string, maximum: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum, default: DEFAULT_LIMIT, description: `so many ${what} at most` }),
  );

const tool = <S extends TObject>(parts: Tool<S>): Tool<S> => parts;

export const clusterGraph = tool({
  name: "cluster_graph",
  title: "Cluster graph",
  description:
    "Nodes with zone, state and available resources, and measured links between them: round-trip time, loss, cost in ms. Name nodes to see the links between them.",
  input: Type.Object(
    {
      nodes: Type.Optional(
        Type.Array(name("node"), {
          minItems: 1,
          maxItems: 100,
          description: "only these nodes and the links between them",
        }),
      ),
      limit: limit("links", 10_000),
    },
    ONLY_THESE,
  ),
  askForLess: "name nodes, or give a smaller limit",
  call: ({ client }, { nodes, limit: links = DEFAULT_LIMIT }, signal) => {
    const named = nodes === undefined ? {} : { nodes: nodes.join(",") };
    return client.page("/api/v1/graph/cluster", { limit: links, ...named }, signal);
  },
});

export const workflowGraph = tool({
  name: "workflow_graph",
  title: "Workflow graph",
  description:
    "One workflow: workloads with their pods and nodes, and channels between workloads with bytes/s, requests/s and errors. Without a name: the list of workflows.",
  input: Type.Object(
    {
      namespace: Type.Optional(name("namespace of the workflow")),
      name: Type.Optional(name("name of the workflow; needs namespace")),
    },
    ONLY_THESE,
  ),
  askForLess: "name a namespace; ask for one workflow at a time",
  call: async ({ client }, { namespace, name: workflow }, signal) => {
    if (workflow !== undefined) {
      if (namespace === undefined)
        throw new TypeError(`namespace must be given with name, got none for ${JSON.stringify(workflow)}`);
      return (await client.workflow(namespace, workflow, signal)).value;
    }
    const { value } = await client.workflows(signal);
    const workflows = value.workflows.filter(
      (each) => namespace === undefined || each.namespace === namespace,
    );
    return { ...value, workflows };
  },
});

export const explain = tool({
  name: "explain",
  title: "Explain a placement",
  description:
    "The newest decision about a pod, or about a workload's newest pod: candidates with scores, peers, why it is where it is, and what the scorer says now.",
  input: Type.Object(
    {
      namespace: Type.Optional(
        Type.String({ minLength: 1, maxLength: MAX_NAME, default: "default", description: "of the pod" }),
      ),
      pod: name("name of the pod, or of its workload"),
    },
    ONLY_THESE,
  ),
  askForLess: "there is no shorter answer: candidates are sorted by score",
  call: async ({ client }, { namespace = "default", pod }, signal) => {
    const { decision, incomplete } = await findDecision(client, namespace, pod, signal);
    if (decision !== null) return incomplete.length === 0 ? decision : { ...decision, incomplete };
    const unasked = unaskedSentence(incomplete);
    throw new TypeError(
      `pod must have a decision that is still kept, got ${JSON.stringify(pod)} in namespace ${JSON.stringify(namespace)}${unasked === null ? "" : `. ${unasked}`}`,
    );
  },
});

export const plan = tool({
  name: "plan",
  title: "Plans of workflows",
  description:
    "The planner's newest proposal for each workflow that runs: cost today and of the best plan in bytes/s x ms, and the moves between with what each brings. Or, by kind plan, what was planned for new pods. Nobody is moved by it.",
  input: Type.Object(
    {
      kind: Type.Optional(
        Type.Union([Type.Literal("proposal"), Type.Literal("plan")], { default: "proposal" }),
      ),
      namespace: Type.Optional(name("only its workflows")),
      limit: limit("plans", 1_000),
    },
    ONLY_THESE,
  ),
  askForLess: "name a namespace, or give a smaller limit",
  call: ({ client }, { kind = "proposal", namespace, limit: plans = DEFAULT_LIMIT }, signal) => {
    const named = namespace === undefined ? {} : { namespace };
    return client.page("/api/v1/plans", { kind, limit: plans, ...named }, signal);
  },
});

export const bill = tool({
  name: "bill",
  title: "Bill of traffic",
  description:
    "What the traffic between workloads costs in a month: by channel, workload, namespace and pair of zones, the dearest first, with the prices used and why money is unknown.",
  input: Type.Object(
    {
      namespace: Type.Optional(name("only channels that begin or end there, and its workloads")),
      limit: limit("channels and workloads", 10_000),
    },
    ONLY_THESE,
  ),
  askForLess: "name a namespace, or give a smaller limit",
  call: ({ client }, { namespace, limit: lines = DEFAULT_LIMIT }, signal) => {
    const named = namespace === undefined ? {} : { namespace };
    return client.page("/api/v1/graph/bill", { limit: lines, ...named }, signal);
  },
});

export const savings = tool({
  name: "savings",
  title: "Savings",
  description:
    "What each Service and workflow would save in a month: with traffic kept in its zone, with pods moved, and with both, each with change of round trip, risk and the commands that do it.",
  input: Type.Object(
    {
      namespace: Type.Optional(name("only its Services and workflows")),
      limit: limit("Services and workflows", 10_000),
    },
    ONLY_THESE,
  ),
  askForLess: "name a namespace, or give a smaller limit",
  call: ({ client }, { namespace, limit: lines = DEFAULT_LIMIT }, signal) => {
    const named = namespace === undefined ? {} : { namespace };
    return client.page("/api/v1/savings", { limit: lines, ...named }, signal);
  },
});

export const health = tool({
  name: "health",
  title: "Health",
  description:
    "Whether the graphs are fresh and whole: readiness, age, lost or refused records, and findings with a rule and a remedy each, as `isochrone doctor --only freshness` has them.",
  input: Type.Object({}, ONLY_THESE),
  askForLess: "there is no shorter answer",
  call: async ({ client, server }, _input, signal) => {
    const [{ value: said }, { value: cluster, dropped }] = await Promise.all([
      client.health(signal),
      client.cluster(signal),
    ]);
    const facts = { cluster, dropped, health: said, why: "", isAssumed: false, server };
    return { health: said, findings: judgeFreshness(facts) };
  },
});
