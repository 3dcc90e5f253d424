import { Type, type Static } from "typebox";
import { NullableNumber, NullableString } from "./schema.ts";

/** A candidate: `raw` in the strategy's unit, `score` 0 to 100. */
const CandidateSchema = Type.Object({
  name: Type.String(),
  feasible: Type.Boolean(),
  reason: NullableString("why it isn't feasible"),
  raw: NullableNumber("the strategy's own unit; null for nodes that can't be scored"),
  score: Type.Number({ minimum: 0, maximum: 100 }),
  parts: Type.Record(Type.String(), NullableNumber("a part of the score, in its own unit")),
  networkMs: Type.Optional(
    NullableNumber(
      "mean network time of a request that the pod exchanges with its 32 heaviest peers there, ms; null when it isn't known",
    ),
  ),
});

const RttSchema = Type.Union([Type.Number(), Type.Literal("unreachable"), Type.Null()], {
  description: "ms of a round trip; null when it isn't known",
});

const PeerSchema = Type.Object({
  workload: Type.String(),
  calling: Type.Boolean({ description: "true: the pod calls them; false: they call it" }),
  node: Type.String({ description: "where they run" }),
  pods: Type.Integer({ minimum: 1 }),
  requestsPerSecond: NullableNumber("of the pod and them together"),
  bytesPerSecond: NullableNumber("of the pod and them together, both directions"),
  rttMs: Type.Record(Type.String(), RttSchema, { description: "by candidate" }),
  errorMs: Type.Optional(
    Type.Record(Type.String(), Type.Number(), {
      description: "how far rttMs may be from the truth, by candidate, where that is known",
    }),
  ),
});

/** The pod's node, and why it differs from the best node. */
const BindingSchema = Type.Object(
  {
    state: Type.Union([Type.Literal("pending"), Type.Literal("bound"), Type.Literal("gone")], {
      description: "gone: the pod ended or was deleted; `node` is where it ran",
    }),
    node: NullableString("null: on no node"),
    at: NullableString("when it was bound, RFC 3339"),
    agreement: Type.Union(
      [Type.Literal("as_chosen"), Type.Literal("tie"), Type.Literal("otherwise"), Type.Null()],
      { description: "with the decision; null: there is nothing to compare" },
    ),
    cause: Type.Union(
      [
        Type.Literal("filter"),
        Type.Literal("not_asked"),
        Type.Literal("equal_points"),
        Type.Literal("spread"),
        Type.Literal("other_scores"),
        Type.Literal("plan"),
        Type.Literal("unknown"),
        Type.Null(),
      ],
      { description: "why the pod is elsewhere, as far as it is known; null: it isn't" },
    ),
    reason: NullableString("the same in a sentence"),
  },
  { $id: "Binding" },
);

export const DecisionKindSchema = Type.Union([
  Type.Literal("score"),
  Type.Literal("plan"),
  Type.Literal("eviction"),
]);

/** Settings of the scorer; `isochrone score --decision` repeats them. */
const DecisionProfileSchema = Type.Object(
  {
    strategy: Type.String({ description: "NAME/MODE, or several as NAME/MODE=WEIGHT, separated by commas" }),
    settings: Type.Record(Type.String(), Type.Number(), {
      description: "weights and other settings of these strategies, by STRATEGY.SETTING",
    }),
    channelPriorities: Type.String({
      description: "relationship types beside those of communication-affinity",
    }),
    usageHeadroom: Type.Boolean({
      description: "whether nodes without room by measured use are rejected",
    }),
  },
  { $id: "DecisionProfile" },
);

const InputsSchema = Type.Object({
  clusterVersion: NullableNumber("cluster graph"),
  clusterAgeSeconds: NullableNumber("age"),
  workflowVersion: NullableNumber("workflow graph"),
  workflowAgeSeconds: NullableNumber("age"),
  channelsByRequests: Type.Optional(
    Type.Integer({
      description: "channels whose traffic was valued by their requests, for want of bytes",
    }),
  ),
  bytesPerRequest: Type.Optional(
    NullableNumber("what such a request counted as, bytes; null when there was none"),
  ),
});

const LinkChangeSchema = Type.Object({
  from: Type.String(),
  to: Type.String(),
  thenMs: RttSchema,
  nowMs: RttSchema,
});

const DecisionNowSchema = Type.Object(
  {
    at: Type.String({ description: "RFC 3339" }),
    inputs: InputsSchema,
    explanation: Type.Array(Type.String()),
    best: NullableString("node with the highest score"),
    candidates: Type.Array(CandidateSchema),
    peers: Type.Array(PeerSchema),
    links: Type.Array(LinkChangeSchema, { description: "that changed, the largest difference first" }),
    changes: Type.Array(Type.String(), { description: "what differs from then, in sentences" }),
  },
  { $id: "DecisionNow" },
);

export const DecisionSchema = Type.Object(
  {
    id: Type.String(),
    kind: Type.Optional(DecisionKindSchema),
    plan: Type.Optional(NullableString("id")),
    outcome: Type.Optional(
      Type.Object({
        at: Type.String({ description: "RFC 3339" }),
        result: Type.String({ description: "one word, such as landed or elsewhere" }),
        node: NullableString("where the pod is"),
        reason: NullableString("why it isn't as decided"),
        measured: Type.Optional(
          Type.Object({
            afterMs: Type.Number({
              description: "of a move: mean round trip of the replacement's channels, measured again",
            }),
          }),
        ),
      }),
    ),
    /** The act of a move that was decided by cost. */
    act: Type.Optional(
      Type.Object(
        {
          id: Type.String({ description: "first decision of the group or of the larger move" }),
          pods: Type.Integer({ minimum: 1, description: "pods that it moves in all" }),
          gainRatio: Type.Number({ description: "share of their channels' cost that is to be saved" }),
          beforeMs: NullableNumber("mean round trip of the pod's channels; null: not known"),
          expectedMs: NullableNumber("the same from the target; null also if it depends on other pods"),
          bytesPerSecond: NullableNumber("traffic of the pod's channels"),
        },
        { description: "what is moved together, and what for" },
      ),
    ),
    at: Type.String({ description: "RFC 3339" }),
    replica: Type.Optional(Type.String({ description: "that decided; absent: the only one" })),
    pod: Type.Object({ namespace: Type.String(), name: Type.String() }),
    workflow: NullableString("namespace/name"),
    workload: NullableString("workload"),
    strategy: Type.String(),
    mode: Type.String(),
    profile: Type.Optional(DecisionProfileSchema),
    /** Versions and ages of the graphs used. Null: not available, so its part was neutral. */
    inputs: InputsSchema,
    /** Names the part that decided, and the neutral parts with the reason. */
    explanation: Type.Array(Type.String()),
    best: NullableString("node that was preferred: of the plan, else of the highest score"),
    candidates: Type.Array(CandidateSchema),
    asked: Type.Optional(
      Type.Integer({ description: "nodes that the question named; `candidates` are the best of them" }),
    ),
    /** Node of the pod now. Absent: unknown. */
    binding: Type.Optional(BindingSchema),
    /** Recorded peers, most requests first; only with `now`. */
    peers: Type.Optional(Type.Array(PeerSchema)),
    now: Type.Optional(DecisionNowSchema),
  },
  { $id: "Decision" },
);

export const DecisionListSchema = Type.Object(
  {
    decisions: Type.Array(DecisionSchema),
    incomplete: Type.Optional(
      Type.Array(Type.String(), {
        description: "replicas that could not be asked, and may know more; absent: none",
      }),
    ),
  },
  { $id: "DecisionList" },
);

// Acts: decisions executed together, with their expected and actual effect.

export const ActKindSchema = Type.Union(
  [Type.Literal("move"), Type.Literal("plan"), Type.Literal("placement"), Type.Literal("proposal")],
  {
    description:
      "move: one proposal of the descheduler, carried out; plan: a workflow placed as a whole; placement: one pod placed alone; proposal: what would be best, and nothing was moved",
  },
);

const VerdictSchema = Type.Union(
  [
    Type.Literal("kept"),
    Type.Literal("missed"),
    Type.Literal("waiting"),
    Type.Literal("failed"),
    Type.Literal("not_judged"),
    Type.Literal("nothing_moved"),
  ],
  {
    description:
      "waiting: pods are under way, or channels are measured again later; failed: a pod isn't where it was to be; not_judged: there is nothing to compare; nothing_moved: it is a proposal",
  },
);

const ActPodSchema = Type.Object({
  name: Type.String(),
  workload: NullableString("workload"),
  decision: NullableString("id of its decision; null: it is a proposal"),
  from: NullableString("node that it left or would leave; null: it is new"),
  to: NullableString("node that was chosen; null: none"),
  node: NullableString("node of the pod, or of its replacement; null: none, or not known"),
  state: Type.String({ description: "how far it has come, in words" }),
});

const ExpectedSchema = Type.Object({
  beforeMs: NullableNumber("mean round trip of the pods' channels, weighted by traffic, when it was decided"),
  afterMs: NullableNumber("the same, as it was expected to become"),
  gainRatio: NullableNumber("share of `beforeMs`, or of today's cost, that was to be saved"),
  gainErrorRatio: NullableNumber("how far `gainRatio` may be off; null: not known"),
});

const CountedSchema = Type.Object({
  beforeMs: Type.Number(),
  afterMs: Type.Number({ description: "as it was measured after the replacements were ready" }),
  gainRatio: NullableNumber("share of `beforeMs` that was saved; negative: it got worse"),
  pods: Type.Integer({ minimum: 1, description: "pods that were measured again" }),
});

const ActSchema = Type.Object(
  {
    id: Type.String({ description: "of its first decision, or of its plan or proposal" }),
    kind: ActKindSchema,
    at: Type.String({ description: "when it began, RFC 3339" }),
    namespace: Type.String(),
    workflow: NullableString("namespace/name"),
    workloads: Type.Array(Type.String()),
    pods: Type.Array(ActPodSchema),
    planned: Type.Integer({
      description: "pods that the act has in all; more than `pods`: some are to come",
    }),
    expected: Type.Union([ExpectedSchema, Type.Null()]),
    counted: Type.Union([CountedSchema, Type.Null()]),
    verdict: VerdictSchema,
    sentence: Type.String({ description: "the verdict in words" }),
    because: NullableString("why it was decided"),
  },
  { $id: "Act" },
);

/** Parts that act, and what a dry run would do. */
const ActingSchema = Type.Object({
  planner: Type.Boolean({ description: "whether gated pods are planned (planner.enabled)" }),
  descheduler: Type.String({ description: "descheduler.mode: off, dry-run, evict or paper" }),
  dryRun: Type.Union(
    [
      Type.Object({
        at: NullableString("last run of this replica, RFC 3339; null: none yet, or another replica leads"),
        halt: NullableString("why nothing would be moved at all; null: something may be"),
        moves: Type.Integer({ minimum: 0, description: "pods that the last run would have moved" }),
        pods: Type.Array(
          Type.Object({
            namespace: Type.String(),
            name: Type.String(),
            from: Type.String({ description: "node" }),
            to: NullableString("node"),
            detail: Type.String({ description: "why, in words" }),
          }),
          { description: "the first 100" },
        ),
      }),
      Type.Null(),
    ],
    { description: "null: descheduler.mode is not dry-run" },
  ),
});

export const ActListSchema = Type.Object(
  {
    acts: Type.Array(ActSchema),
    leftOut: Type.Integer({ minimum: 0, description: "acts that match and are more than `limit`" }),
    acting: Type.Optional(ActingSchema),
    isCut: Type.Boolean({ description: "there are older decisions than those that were grouped" }),
    incomplete: Type.Optional(
      Type.Array(Type.String(), { description: "replicas that could not be asked; absent: none" }),
    ),
  },
  { $id: "ActList" },
);

export type Act = Static<typeof ActSchema>;
export type ActKind = Static<typeof ActKindSchema>;
export type ActList = Static<typeof ActListSchema>;
export type Binding = Static<typeof BindingSchema>;
export type Candidate = Static<typeof CandidateSchema>;
export type Decision = Static<typeof DecisionSchema>;
export type DecisionKind = Static<typeof DecisionKindSchema>;
export type DecisionNow = Static<typeof DecisionNowSchema>;
export type DecisionProfile = Static<typeof DecisionProfileSchema>;
export type LinkChange = Static<typeof LinkChangeSchema>;
export type Peer = Static<typeof PeerSchema>;
export type Rtt = Static<typeof RttSchema>;
export type DecisionList = Static<typeof DecisionListSchema>;
