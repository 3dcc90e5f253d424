// The graph API's schema (design §10): JSON Schema and TypeScript type from one definition. A public contract: extend, don't rename.
// Units stand in the names; a number that isn't known is null, never NaN and never 0.
import { Type, type Static } from "typebox";
import { METHODS } from "@isochrone/telemetry";

const NullableNumber = (description: string) => Type.Union([Type.Number(), Type.Null()], { description });
const NullableString = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const Milliseconds = (description: string) => NullableNumber(`${description}, milliseconds`);

// Literals one by one: the static type of a mapped array would be never.
export const MethodSchema = Type.Union([
  Type.Literal(METHODS[0]),
  Type.Literal(METHODS[1]),
  Type.Literal(METHODS[2]),
]);

export const OriginSchema = Type.Union([
  Type.Literal("measured"),
  Type.Literal("estimated"),
  Type.Literal("declared"),
]);

export const ClusterNodeSchema = Type.Object(
  {
    name: Type.String(),
    zone: NullableString("topology.kubernetes.io/zone"),
    region: NullableString("topology.kubernetes.io/region"),
    segment: NullableString("topology.kubernetes.io/segment"),
    ready: Type.Boolean(),
    cordoned: Type.Boolean(),
    allocatableCpuMillicores: NullableNumber("allocatable CPU, thousandths of a core"),
    allocatableMemoryBytes: NullableNumber("allocatable memory, bytes"),
    availableCpuMillicores: NullableNumber("allocatable less measured use; null while the use isn't known"),
    availableMemoryBytes: NullableNumber("allocatable less measured working set; null while it isn't known"),
    coordinate: Type.Union([Type.Array(Type.Number()), Type.Null()], {
      description: "network coordinate; null until fitted",
    }),
    usageAgeSeconds: NullableNumber("age of the newest usage sample"),
  },
  { $id: "ClusterNode" },
);

export const LinkSchema = Type.Object(
  {
    source: Type.String(),
    target: Type.String(),
    method: MethodSchema,
    ipFamily: Type.Union([Type.Literal(4), Type.Literal(6)]),
    rttMs: Type.Object({
      p50: Milliseconds("median; null without an answer in the window"),
      p90: Milliseconds("null below 20 samples"),
      p99: Milliseconds("null below 100 samples"),
      mean: Milliseconds("mean"),
      count: Type.Integer({ description: "samples in the window" }),
    }),
    lossRatio: NullableNumber(
      "(lost + not sendable) / (received + lost + not sendable) packets of the window, 0 to 1; null when none was tried",
    ),
    jitterMs: Milliseconds("mean |RTT_i - RTT_(i-1)|"),
    bandwidthBitsPerSecond: Type.Object({
      capacity: NullableNumber("bits per second"),
      achieved: NullableNumber("bits per second"),
      available: NullableNumber("measured headroom, bits per second"),
    }),
    costMs: Milliseconds("what placement pays for this link; null = unknown"),
    errorMs: Milliseconds("uncertainty of costMs; 0 for measured links is never claimed, null = not known"),
    origin: OriginSchema,
    provisional: Type.Boolean({ description: "the window isn't full yet" }),
    ageSeconds: NullableNumber("age of the newest sample"),
    observedAt: NullableString("time of the newest sample, RFC 3339"),
  },
  { $id: "Link" },
);

export const ClusterGraphSchema = Type.Object(
  {
    version: Type.Integer({ description: "grows by one with each published graph of this replica" }),
    observedAt: Type.String({ description: "when the graph was built, RFC 3339" }),
    windowSeconds: Type.Number(),
    nodes: Type.Array(ClusterNodeSchema),
    links: Type.Array(LinkSchema),
    nextCursor: Type.Optional(
      NullableString("give it as ?cursor= for the next page of links; null at the end"),
    ),
  },
  { $id: "ClusterGraph" },
);

export const PodPlacementSchema = Type.Object(
  { name: Type.String(), node: NullableString("null while not bound") },
  { $id: "PodPlacement" },
);

export const WorkloadSchema = Type.Object(
  {
    name: Type.String(),
    kind: Type.String({
      description: "Deployment, StatefulSet, …; Unknown for a workload seen in traffic only",
    }),
    namespace: Type.String(),
    cpuMillicores: NullableNumber("mean measured use of one pod, thousandths of a core"),
    memoryBytes: NullableNumber("mean working set of one pod, bytes"),
    pods: Type.Array(PodPlacementSchema),
  },
  { $id: "Workload" },
);

export const ChannelSchema = Type.Object(
  {
    source: Type.String({ description: "workload" }),
    target: Type.String({ description: "workload" }),
    bytesPerSecond: NullableNumber(
      "request and response bytes together; null where the source of the figures counts none",
    ),
    requestsPerSecond: NullableNumber("null for channels without requests (plain TCP)"),
    errorRatio: NullableNumber("share of requests answered with 5xx or not at all; null without requests"),
    priority: NullableNumber("declared priority"),
    maxNetworkCost: NullableNumber("declared limit of the network cost"),
    minBandwidthBitsPerSecond: NullableNumber("declared need"),
    origin: Type.Union([Type.Literal("observed"), Type.Literal("declared")]),
    ageSeconds: NullableNumber("age of the newest sample"),
  },
  { $id: "Channel" },
);

export const WorkflowGraphSchema = Type.Object(
  {
    version: Type.Integer(),
    observedAt: Type.String(),
    namespace: Type.String(),
    name: Type.String(),
    workloads: Type.Array(WorkloadSchema),
    channels: Type.Array(ChannelSchema),
  },
  { $id: "WorkflowGraph" },
);

export const WorkflowListSchema = Type.Object(
  {
    version: Type.Integer(),
    observedAt: Type.String(),
    workflows: Type.Array(
      Type.Object({
        namespace: Type.String(),
        name: Type.String(),
        workloads: Type.Integer(),
        channels: Type.Integer(),
        pods: Type.Integer(),
      }),
    ),
  },
  { $id: "WorkflowList" },
);

/** Where and how a node's probe measures a peer. `address` may be a translated one; `identity` is what the peer itself is called by, and what the HMAC is bound to. */
export const ProbePeerSchema = Type.Object(
  {
    node: Type.String(),
    zone: NullableString("zone"),
    region: NullableString("region"),
    address: Type.String({ description: "IP address to send to" }),
    identity: Type.String({ description: "the peer's own IP address" }),
    udpPort: Type.Integer({ minimum: 1, maximum: 65535 }),
    tcpPort: Type.Integer({ minimum: 1, maximum: 65535 }),
  },
  { $id: "ProbePeer" },
);

export const ProbePlanSchema = Type.Object(
  {
    version: Type.String({ description: "hash of the plan; also its ETag" }),
    node: Type.String(),
    identity: Type.String({ description: "this node's own IP address" }),
    zone: NullableString("zone"),
    region: NullableString("region"),
    peers: Type.Array(ProbePeerSchema),
  },
  { $id: "ProbePlan" },
);

/** RFC 9457. */
export const ProblemSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.Optional(Type.String()),
    code: Type.Optional(Type.String()),
  },
  { $id: "Problem" },
);

/** What `GET /api/v1/events` sends as data of a `graph` event. */
export const GraphEventSchema = Type.Object(
  {
    version: Type.Integer(),
    observedAt: Type.String(),
    /** What changed since the version before. */
    changed: Type.Object({
      nodes: Type.Array(Type.String()),
      links: Type.Array(
        Type.Object({
          source: Type.String(),
          target: Type.String(),
          costMs: NullableNumber("ms"),
          lossRatio: NullableNumber("0 to 1"),
        }),
      ),
      workflows: Type.Array(Type.Object({ namespace: Type.String(), name: Type.String() })),
    }),
  },
  { $id: "GraphEvent" },
);

/** One candidate of a decision: `raw` in the strategy's own unit, `score` 0 to 100. */
export const CandidateSchema = Type.Object(
  {
    name: Type.String(),
    feasible: Type.Boolean(),
    reason: NullableString("why it isn't feasible"),
    raw: NullableNumber("the strategy's own unit; null for nodes that can't be scored"),
    score: Type.Number({ minimum: 0, maximum: 100 }),
    parts: Type.Record(Type.String(), NullableNumber("a part of the score, in its own unit")),
  },
  { $id: "Candidate" },
);

export const DecisionSchema = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: "RFC 3339" }),
    pod: Type.Object({ namespace: Type.String(), name: Type.String() }),
    workflow: NullableString("namespace/name"),
    workload: NullableString("workload"),
    strategy: Type.String(),
    mode: Type.String(),
    /** Versions and ages of the graphs used; null = not available, so its part was neutral. */
    inputs: Type.Object({
      clusterVersion: NullableNumber("cluster graph"),
      clusterAgeSeconds: NullableNumber("age"),
      workflowVersion: NullableNumber("workflow graph"),
      workflowAgeSeconds: NullableNumber("age"),
    }),
    /** Words: which part decided, and which parts were neutral and why. */
    explanation: Type.Array(Type.String()),
    best: NullableString("node with the highest score"),
    candidates: Type.Array(CandidateSchema),
  },
  { $id: "Decision" },
);

export const DecisionListSchema = Type.Object(
  { decisions: Type.Array(DecisionSchema) },
  { $id: "DecisionList" },
);

export type Origin = Static<typeof OriginSchema>;
export type ClusterNode = Static<typeof ClusterNodeSchema>;
export type Link = Static<typeof LinkSchema>;
export type ClusterGraphSnapshot = Static<typeof ClusterGraphSchema>;
export type PodPlacement = Static<typeof PodPlacementSchema>;
export type Workload = Static<typeof WorkloadSchema>;
export type Channel = Static<typeof ChannelSchema>;
export type WorkflowGraphSnapshot = Static<typeof WorkflowGraphSchema>;
export type WorkflowList = Static<typeof WorkflowListSchema>;
export type ProbePeer = Static<typeof ProbePeerSchema>;
export type ProbePlan = Static<typeof ProbePlanSchema>;
export type Problem = Static<typeof ProblemSchema>;
export type GraphEvent = Static<typeof GraphEventSchema>;
export type Candidate = Static<typeof CandidateSchema>;
export type Decision = Static<typeof DecisionSchema>;
export type DecisionList = Static<typeof DecisionListSchema>;
