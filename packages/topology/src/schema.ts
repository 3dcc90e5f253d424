// Schemas and types of the graph API. A public contract: extend, don't rename. Names have units; an unknown
// number is null, never NaN or 0.
import { Type, type Static } from "typebox";
import { NodeDownSchema } from "./findings/node-down-schema.ts";
import { ChannelFlowSchema, OutsideFlowsSchema } from "./flows/measured-flows.ts";
import { METHODS } from "@isochrone/telemetry";
export const NullableNumber = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { description });
export const NullableString = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description });
const Milliseconds = (description: string) => NullableNumber(`${description}, milliseconds`);

// Explicit literals: the static type of a mapped array would be never.
export const MethodSchema = Type.Union([
  Type.Literal(METHODS[0]),
  Type.Literal(METHODS[1]),
  Type.Literal(METHODS[2]),
  Type.Literal(METHODS[3]),
]);

const OriginSchema = Type.Union([
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
    provider: Type.Optional(NullableString("scheme of spec.providerID, as aws; null: it has none")),
    ready: Type.Boolean(),
    down: Type.Optional(NodeDownSchema),
    cordoned: Type.Boolean(),
    allocatableCpuMillicores: NullableNumber("allocatable CPU, thousandths of a core"),
    allocatableMemoryBytes: NullableNumber("allocatable memory, bytes"),
    availableCpuMillicores: NullableNumber(
      "allocatable less measured use, else what node_exporter calls idle; null while neither is known",
    ),
    availableMemoryBytes: NullableNumber(
      "allocatable less measured working set, else what node_exporter calls available; null while neither is known",
    ),
    networkCapacityBitsPerSecond: Type.Optional(
      NullableNumber("capacity of the node's network interfaces as its object declares it, bits per second"),
    ),
    networkReceiveBitsPerSecond: Type.Optional(
      NullableNumber("measured mean over the window on the node's own interfaces, bits per second"),
    ),
    networkTransmitBitsPerSecond: Type.Optional(
      NullableNumber("measured mean over the window on the node's own interfaces, bits per second"),
    ),
    coordinate: Type.Union([Type.Array(Type.Number()), Type.Null()], {
      description: "network coordinate [x..., height], milliseconds; null until fitted",
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
      p50: Milliseconds("median; null without an answer"),
      p90: Milliseconds("null below 20 samples"),
      p99: Milliseconds("null below 100 samples"),
      mean: Milliseconds("mean"),
      count: Type.Integer({ description: "samples in the window, or since `since`" }),
    }),
    lossRatio: NullableNumber(
      "(lost + not sendable) / (received + late + lost + not sendable) packets of the window, or since `since`, 0 to 1; late: answered after the timeout, not lost; 1: the link is cut; null when none was tried",
    ),
    jitterMs: Milliseconds("mean |RTT_i - RTT_(i-1)|"),
    bandwidthBitsPerSecond: Type.Object({
      capacity: NullableNumber("bits per second; where it comes from: bandwidthCapacityOrigin"),
      achieved: NullableNumber(
        "what the newest burst got through, bits per second: capacity is at least that",
      ),
      available: NullableNumber("capacity less measured use, the tighter of both ends, bits per second"),
    }),
    bandwidthCapacityOrigin: Type.Optional(
      Type.Union([Type.Literal("declared"), Type.Literal("measured"), Type.Null()], {
        description:
          "declared: by both nodes' objects; measured: the best burst of a long time. It and the next two are absent where no bandwidth is known",
      }),
    ),
    bandwidthTransport: Type.Optional(
      Type.Union([Type.Literal("tcp"), Type.Literal("udp"), Type.Null()], {
        description: "what the burst behind bandwidthBitsPerSecond.achieved was sent by",
      }),
    ),
    bandwidthObservedAt: Type.Optional(NullableString("time of that burst, RFC 3339")),
    costMs: Milliseconds("what placement pays for this link; null = unknown"),
    errorMs: Milliseconds(
      "how far costMs may be from the truth: about two standard errors, by samples, the pair's other links and age; of an estimate half the width of its 90 % interval. null = not known",
    ),
    origin: OriginSchema,
    provisional: Type.Boolean({ description: "younger than the window, or too few samples for an error" }),
    ageSeconds: NullableNumber("age of the newest sample, answered or lost"),
    observedAt: NullableString("time of the newest sample, answered or lost, RFC 3339"),
    answeredAt: Type.Optional(
      NullableString("time of the newest answer, RFC 3339; null: none is known; absent: not told"),
    ),
    since: Type.Optional(
      NullableString(
        "the link was cut, healed, or took another delay then, RFC 3339, by panes: rttMs, lossRatio, jitterMs and costMs are of the time since. null: they are of the whole window; absent: not told",
      ),
    ),
  },
  { $id: "Link" },
);

export const CoordinateFitSchema = Type.Object(
  {
    fittedAt: Type.String({ description: "time of the samples, RFC 3339" }),
    ageSeconds: Type.Number({ description: "age of the samples when the graph was built" }),
    pairs: Type.Integer({ description: "measured ordered pairs that it was fitted to" }),
    medianRelativeError: NullableNumber(
      "median of |estimate - measured| / measured over measured pairs that the fit was not shown; null = not known",
    ),
    p90RelativeError: NullableNumber("90 % of those pairs have no larger one"),
  },
  { $id: "CoordinateFit" },
);

const DeclaredPairsSchema = Type.Array(
  Type.Object({
    from: Type.String(),
    to: Type.String(),
    cost: Type.Number({ minimum: 0, description: "in the declaration's own unit" }),
  }),
);

export const DeclaredCostsSchema = Type.Object(
  {
    source: Type.String({ description: "object and weights that they are from" }),
    unitMs: Type.Number({ exclusiveMinimum: 0, description: "milliseconds that a cost of 1 stands for" }),
    zones: DeclaredPairsSchema,
    regions: DeclaredPairsSchema,
  },
  { $id: "DeclaredCosts" },
);

export const ClusterGraphSchema = Type.Object(
  {
    version: Type.Integer({ description: "grows by one with each published graph of this replica" }),
    observedAt: Type.String({ description: "when the graph was built, RFC 3339" }),
    windowSeconds: Type.Number(),
    costMethods: Type.Optional(
      Type.Array(MethodSchema, { description: "methods that costs come from, the preferred one first" }),
    ),
    coordinates: Type.Optional(
      Type.Union([CoordinateFitSchema, Type.Null()], { description: "null while nodes have no coordinates" }),
    ),
    declaredCosts: Type.Optional(
      Type.Union([DeclaredCostsSchema, Type.Null()], {
        description: "costs between zones and regions that somebody declared; absent: none are read",
      }),
    ),
    nodes: Type.Array(ClusterNodeSchema),
    links: Type.Array(LinkSchema),
    nextCursor: Type.Optional(
      NullableString("give it as ?cursor= for the next page of links; null at the end"),
    ),
  },
  { $id: "ClusterGraph" },
);

export const PodPlacementSchema = Type.Object(
  {
    name: Type.String(),
    node: NullableString("null while not bound"),
    ingressLimitBitsPerSecond: Type.Optional(
      Type.Number({
        description: "limit of what it receives, as annotated for the CNI, bits per second; absent: none",
      }),
    ),
    egressLimitBitsPerSecond: Type.Optional(Type.Number({ description: "limit of what it sends, likewise" })),
  },
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

const RoutingSchema = Type.Union([Type.Literal("spread"), Type.Literal("nearest")], {
  description: "spread (also when absent): evenly to all; nearest: to those nearest to the caller",
});

const RoutingScopeSchema = Type.Union([Type.Literal("node"), Type.Literal("zone"), Type.Literal("region")]);

export const ChannelSchema = Type.Object(
  {
    source: Type.String({ description: "workload" }),
    target: Type.String({ description: "workload" }),
    bytesPerSecond: NullableNumber(
      "request and response bytes together; null where the source of the figures counts none",
    ),
    requestsPerSecond: NullableNumber("null for channels without requests (plain TCP)"),
    errorRatio: NullableNumber("share of requests answered with 5xx or not at all; null without requests"),
    priority: NullableNumber(
      "declared priority; it and the next two bind pods of the workflow's own namespace alone",
    ),
    maxNetworkCost: NullableNumber("declared limit of the network cost"),
    minBandwidthBitsPerSecond: NullableNumber("declared need"),
    relationshipType: Type.Optional(
      NullableString("declared type, such as HTTPRoute; it gives the priority where none is declared"),
    ),
    routing: Type.Optional(RoutingSchema),
    routingScopes: Type.Optional(
      Type.Array(RoutingScopeSchema, {
        uniqueItems: true,
        description: "with routing nearest: where a nearer one is preferred; absent: node, zone and region",
      }),
    ),
    flow: Type.Optional(ChannelFlowSchema),
    origin: Type.Union([Type.Literal("observed"), Type.Literal("declared")]),
    countedBy: Type.Optional(Type.String({ description: "who counted the bytes, else the requests" })),
    requestsCountedBy: Type.Optional(Type.String({ description: "who counted requests; absent: the same" })),
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
    outside: Type.Optional(OutsideFlowsSchema),
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
    id: Type.Optional(
      Type.String({
        description: "include=graphs: what to ask `since` next time. Of one life of one replica",
      }),
    ),
    graphs: Type.Optional(
      Type.Array(WorkflowGraphSchema, {
        description: "include=graphs: the graphs that changed, in the list's order; without `since` all",
      }),
    ),
    nextCursor: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: "include=graphs: where the next page begins" }),
    ),
  },
  { $id: "WorkflowList" },
);

/**
 * How a probe measures a peer. `address` may be translated; `identity` is the peer's own name, bound by the
 * HMAC.
 */
const ProbePeerSchema = Type.Object(
  {
    node: Type.String(),
    zone: NullableString("zone"),
    region: NullableString("region"),
    address: Type.String({ description: "IP address to send to" }),
    identity: Type.String({ description: "the peer's own IP address" }),
    udpPort: Type.Integer({ minimum: 1, maximum: 65535 }),
    tcpPort: Type.Integer({ minimum: 1, maximum: 65535 }),
    bandwidthPort: Type.Union([Type.Integer({ minimum: 1, maximum: 65535 }), Type.Null()], {
      description: "where bursts are taken; null = nowhere",
    }),
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
    signingKeyId: Type.Union([Type.Integer({ minimum: 1, maximum: 65535 }), Type.Null()], {
      description: "the key of packet authentication that signs; null = as the probe's settings say",
    }),
    peers: Type.Array(ProbePeerSchema),
  },
  { $id: "ProbePlan" },
);

export const BandwidthLeaseRequestSchema = Type.Object(
  { node: Type.String({ minLength: 1, maxLength: 253, description: "the node that wants to test" }) },
  { $id: "BandwidthLeaseRequest", additionalProperties: false },
);

/** Permission for one bandwidth test; at most one per node and per pair of zones at a time. */
const BandwidthLeaseSchema = Type.Object(
  {
    id: Type.String({ description: "give it back by DELETE with this id" }),
    target: Type.String({ description: "the peer to test" }),
    expiresInMs: Type.Number({ description: "ends by itself after so long, milliseconds" }),
    maxBytes: Type.Integer({ description: "bytes that the test may put on the wire" }),
  },
  { $id: "BandwidthLease" },
);

export const BandwidthLeaseAnswerSchema = Type.Object(
  {
    lease: Type.Union([BandwidthLeaseSchema, Type.Null()], { description: "null = not now" }),
    retryAfterMs: Type.Number({ description: "asking again before is in vain, milliseconds" }),
  },
  { $id: "BandwidthLeaseAnswer" },
);

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

/** Data of a `graph` event in `GET /api/v1/events`. */
const GraphEventSchema = Type.Object(
  {
    version: Type.Integer(),
    observedAt: Type.String(),
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

export type Origin = Static<typeof OriginSchema>;
export type ClusterNode = Static<typeof ClusterNodeSchema>;
export type Link = Static<typeof LinkSchema>;
export type CoordinateFit = Static<typeof CoordinateFitSchema>;
export type DeclaredCosts = Static<typeof DeclaredCostsSchema>;
export type ClusterGraphSnapshot = Static<typeof ClusterGraphSchema>;
export type PodPlacement = Static<typeof PodPlacementSchema>;
export type Workload = Static<typeof WorkloadSchema>;
export type Channel = Static<typeof ChannelSchema>;
export type RoutingScope = Static<typeof RoutingScopeSchema>;
export type WorkflowGraphSnapshot = Static<typeof WorkflowGraphSchema>;
export type WorkflowList = Static<typeof WorkflowListSchema>;
export type ProbePlan = Static<typeof ProbePlanSchema>;
export type BandwidthLeaseAnswer = Static<typeof BandwidthLeaseAnswerSchema>;
export type Problem = Static<typeof ProblemSchema>;
export type GraphEvent = Static<typeof GraphEventSchema>;
