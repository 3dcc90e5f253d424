// Acts: decisions that were carried out together, with what was expected of them and what came.
import { Type, type Static } from "typebox";
import { NullableNumber, NullableString } from "./schema.ts";

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

export const ActSchema = Type.Object(
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

export const ActListSchema = Type.Object(
  {
    acts: Type.Array(ActSchema),
    leftOut: Type.Integer({ minimum: 0, description: "acts that match and are more than `limit`" }),
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
