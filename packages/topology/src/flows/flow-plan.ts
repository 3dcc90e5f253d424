// A public contract: extend, don't rename.
import { isIP } from "node:net";
import { Type, type Static } from "typebox";
import { SnapshotError } from "../errors.ts";
import { checkSchema, compiledLate } from "../validation.ts";

/** Planners divide flows and links between namespaces within these bounds. */
export const FLOW_PLAN_BOUNDS = {
  flowsOfNode: 5_000,
  neighboursOfNode: 1_000,
  /** Share of a link reserved for unplanned traffic. */
  restShare: 0.1,
} as const;
const MAX_NAME = 253;
/** Longest flow id: two workloads, their namespace and their owner. */
const MAX_ID = 1_100;

const Name = (description: string) => Type.String({ minLength: 1, maxLength: MAX_NAME, description });
const NullableName = (description: string) =>
  Type.Union([Type.String({ minLength: 1, maxLength: MAX_NAME }), Type.Null()], { description });
const Amount = { exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
const Address = (description: string) => Type.String({ minLength: 2, maxLength: 45, description });

// Without $id: it may occur only once in a schema, and this is used twice.
const FlowEndSchema = Type.Object({
  node: Name("the node that the end runs on"),
  address: Address("IP address that the end's packets carry"),
  port: Type.Union([Type.Integer({ minimum: 1, maximum: 65_535 }), Type.Null()], {
    description: "null: any port",
  }),
});

const FlowNeighbourSchema = Type.Object(
  {
    node: Name("a node that this one sends flows to, or gets them from"),
    address: Address("its IP address"),
    capacityBitsPerSecond: Type.Union([Type.Number(Amount), Type.Null()], {
      description: "capacity of the link to it, bits per second; null: unknown, which isn't infinite",
    }),
  },
  { $id: "FlowNeighbour" },
);

const PlannedFlowSchema = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      maxLength: MAX_ID,
      pattern: "^[\\x21-\\x7e]+$",
      description: "NAMESPACE/OWNER/FROM->TO; unique within the plan",
    }),
    owner: Type.Object({
      kind: Type.Union([Type.Literal("StreamJob"), Type.Literal("AppGroup")]),
      namespace: Name("of the object"),
      name: Name("of the object"),
    }),
    channel: Type.Optional(
      Type.Object(
        { source: Name("workload; of a StreamJob JOB.TASK, or JOB.source"), target: Name("workload") },
        { description: "in workflow graphs of the owner's namespace; absent: none" },
      ),
    ),
    protocol: Type.Union([Type.Literal("tcp"), Type.Literal("udp")]),
    source: FlowEndSchema,
    target: FlowEndSchema,
    next: NullableName("the neighbour that this node sends the flow to; null: the target is here"),
    previous: NullableName("the node that the flow comes from; null: the source is here"),
    routed: Type.Boolean({ description: "its path isn't the kernel's own" }),
    bitsPerSecond: Type.Number({ ...Amount, description: "rate, headers included, bits per second" }),
  },
  { $id: "PlannedFlow" },
);

export const FlowPlanSchema = Type.Object(
  {
    version: Type.String({ minLength: 1, maxLength: 128, description: "hash of the plan; also its ETag" }),
    node: Name("the node that the plan is for"),
    epoch: Type.String({ minLength: 1, maxLength: 128, description: "one leader's life" }),
    generation: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "counts the plans of an epoch",
    }),
    neighbours: Type.Array(FlowNeighbourSchema, { maxItems: FLOW_PLAN_BOUNDS.neighboursOfNode }),
    flows: Type.Array(PlannedFlowSchema, { maxItems: FLOW_PLAN_BOUNDS.flowsOfNode }),
  },
  { $id: "FlowPlan" },
);

export type FlowPlan = Static<typeof FlowPlanSchema>;
export type PlannedFlow = Static<typeof PlannedFlowSchema>;
export type FlowNeighbour = Static<typeof FlowNeighbourSchema>;

const DOCUMENT = "flow plan";
const flowPlanSchema = compiledLate(FlowPlanSchema);

/** Validates a flow plan. Throws SnapshotError. */
export function parseFlowPlan(json: unknown): FlowPlan {
  const plan = json;
  checkSchema(DOCUMENT, flowPlanSchema, plan);
  const neighbours = new Set<string>();
  for (const [index, neighbour] of plan.neighbours.entries())
    checkNeighbour(plan, neighbour, `neighbours[${index}]`, neighbours);
  const ids = new Set<string>();
  const packets = new Map<string, number>();
  for (const [index, flow] of plan.flows.entries()) {
    const path = `flows[${index}]`;
    checkFlow(plan, flow, path, neighbours);
    if (ids.has(flow.id)) refuse(`${path}.id`, "must be unique", flow.id);
    ids.add(flow.id);
    const other = packets.get(packetsOf(flow));
    if (other !== undefined) refuse(path, `must not be of the same packets as flows[${other}]`, flow.id);
    packets.set(packetsOf(flow), index);
  }
  return plan;
}

/** Validates plans in `{"plans": []}`. Throws SnapshotError. */
export function parseFlowPlans(json: unknown): FlowPlan[] {
  const plans = typeof json === "object" && json !== null && "plans" in json ? json.plans : null;
  if (!Array.isArray(plans)) throw new SnapshotError("flow plans", "plans", "must be a list", plans);
  return plans.map(parseFlowPlan);
}

function checkNeighbour(plan: FlowPlan, neighbour: FlowNeighbour, path: string, seen: Set<string>): void {
  checkAddress(neighbour.address, `${path}.address`);
  if (neighbour.node === plan.node) refuse(`${path}.node`, "must be another node", neighbour.node);
  if (seen.has(neighbour.node)) refuse(`${path}.node`, "must be unique", neighbour.node);
  seen.add(neighbour.node);
}

function checkFlow(plan: FlowPlan, flow: PlannedFlow, path: string, neighbours: ReadonlySet<string>): void {
  const { source, target, next, previous } = flow;
  checkAddress(source.address, `${path}.source.address`);
  checkAddress(target.address, `${path}.target.address`);
  if (isIP(source.address) !== isIP(target.address))
    refuse(`${path}.target.address`, "must be of the source's IP family", target.address);
  if (source.node === target.node) refuse(`${path}.target.node`, "must differ from source.node", target.node);
  if ((next === null) !== (target.node === plan.node))
    refuse(`${path}.next`, "must be null where the target is, and nowhere else", next);
  if ((previous === null) !== (source.node === plan.node))
    refuse(`${path}.previous`, "must be null where the source is, and nowhere else", previous);
  if (next !== null && !neighbours.has(next)) refuse(`${path}.next`, "must be one of neighbours", next);
  if (next !== null && next === previous) refuse(`${path}.next`, "must differ from previous", next);
  if (previous === plan.node) refuse(`${path}.previous`, "must be another node", previous);
}

/** Rejects addresses with an IPv6 zone, which are valid only on their own node. */
function checkAddress(address: string, path: string): void {
  if (isIP(address) === 0 || address.includes("%"))
    refuse(path, "must be an IPv4 or IPv6 address without a zone", address);
}

function packetsOf({ protocol, source, target }: PlannedFlow): string {
  return [protocol, source.address, source.port, target.address, target.port].join(" ");
}

function refuse(path: string, rule: string, value: unknown): never {
  throw new SnapshotError(DOCUMENT, path, rule, value);
}
