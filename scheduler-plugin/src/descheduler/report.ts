import type { DescheduleRow, Halt } from "@isochrone/placement";
import { Type } from "typebox";
import type { Static } from "typebox";

const NullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const NullableNumber = (description: string) => Type.Union([Type.Number(), Type.Null()], { description });

export const DeschedulerReportSchema = Type.Object(
  {
    mode: Type.String(),
    replica: Type.Optional(Type.String({ description: "that answers, the leader where it is known" })),
    lastRunAt: NullableText("RFC 3339; null before the first run of this replica, which is the leader's"),
    runSeconds: NullableNumber("how long it took"),
    halt: Type.Union([Type.Object({ reason: Type.String(), detail: Type.String() }), Type.Null()], {
      description: "why nothing is moved at all; null when it may be",
    }),
    pods: Type.Array(
      Type.Object({
        workflow: Type.String({ description: "namespace/name" }),
        namespace: Type.String(),
        name: Type.String(),
        node: Type.String(),
        target: NullableText("the best node that it may go to; null when there is none better"),
        cost: NullableNumber("what its channels cost, bytes/s x ms; null for pods that may not be moved"),
        gain: NullableNumber(
          "how much less that would be; null as above, and in mode paper, which compares scores",
        ),
        groupSize: Type.Integer({
          description:
            "pods that only together gain that: cost and gain are those of all of them; 1: it alone",
        }),
        rounds: Type.Integer({ description: "in how many runs in a row the move paid" }),
        decision: Type.String({ description: "move, or why not" }),
        detail: Type.String({ description: "in words" }),
      }),
      { description: "the first 2,000" },
    ),
    skipped: Type.Record(Type.String(), Type.Integer(), { description: "pods that stay, by reason" }),
    inFlight: Type.Array(
      Type.Object({
        namespace: Type.String(),
        name: Type.String({ description: "the evicted pod's" }),
        from: Type.String(),
        to: Type.String(),
        since: Type.String({ description: "RFC 3339" }),
      }),
    ),
    regret: Type.Number({ description: "share of the gain expected of the last moves that didn't come" }),
    stoppedUntil: NullableText("RFC 3339; null: it hasn't stopped itself"),
    stoppedBy: NullableText("why it has stopped itself, in words; null: it hasn't"),
  },
  { $id: "DeschedulerReport" },
);

export type DeschedulerReport = Static<typeof DeschedulerReportSchema>;
type ReportedPod = DeschedulerReport["pods"][number];

export function emptyReport(mode: string): DeschedulerReport {
  return {
    mode,
    lastRunAt: null,
    runSeconds: null,
    halt: null,
    pods: [],
    skipped: {},
    inFlight: [],
    regret: 0,
    stoppedUntil: null,
    stoppedBy: null,
  };
}

export function reportedRow(row: DescheduleRow): ReportedPod {
  const {
    workflow,
    namespace,
    pod: name,
    from: node,
    to: target,
    cost,
    gain,
    groupSize,
    rounds,
    decision,
    detail,
  } = row;
  return { workflow, namespace, name, node, target, cost, gain, groupSize, rounds, decision, detail };
}

export function reportedHalt(halt: Halt | null): DeschedulerReport["halt"] {
  return halt === null ? null : { reason: halt.reason, detail: halt.detail };
}
