// What the decisions API answers.
import { Type, type Static } from "typebox";
import { NullableNumber, NullableString } from "./schema.ts";

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

/** What was decided: how nodes score for one pod, a pod's place in a joint plan, or that a pod is moved. */
export const DecisionKindSchema = Type.Union([
  Type.Literal("score"),
  Type.Literal("plan"),
  Type.Literal("eviction"),
]);

export const DecisionSchema = Type.Object(
  {
    id: Type.String(),
    kind: Type.Optional(DecisionKindSchema),
    /** The plan that it is part of. */
    plan: Type.Optional(NullableString("id")),
    /** What became of it. */
    outcome: Type.Optional(
      Type.Object({
        at: Type.String({ description: "RFC 3339" }),
        result: Type.String({ description: "one word, such as landed or elsewhere" }),
        node: NullableString("where the pod is"),
        reason: NullableString("why it isn't as decided"),
      }),
    ),
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
      channelsByRequests: Type.Optional(
        Type.Integer({
          description: "channels whose traffic was valued by their requests, for want of bytes",
        }),
      ),
      bytesPerRequest: Type.Optional(
        NullableNumber("what such a request counted as, bytes; null when there was none"),
      ),
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

export type Candidate = Static<typeof CandidateSchema>;
export type Decision = Static<typeof DecisionSchema>;
export type DecisionKind = Static<typeof DecisionKindSchema>;
export type DecisionList = Static<typeof DecisionListSchema>;
