import { Type, type Static } from "typebox";
import { NullableNumber, NullableString } from "../schema.ts";
import { checkFigures, checkSchema, compiledLate } from "../validation.ts";

const MoveSchema = Type.Object({
  namespace: Type.String(),
  name: Type.String({ description: "pod" }),
  workload: Type.String(),
  from: Type.String({ description: "node" }),
  to: Type.String({ description: "node" }),
});

const OptionSchema = Type.Object({
  savedPerMonth: NullableNumber(
    "by how much the workflow's bill falls, what callees send on included; below 0: it rises; null: unknown",
  ),
  roundTripMs: NullableNumber("mean of all requests afterwards, by the measured links; null: unknown"),
  roundTripChangeMs: NullableNumber("against today"),
  zones: Type.Union([Type.Integer(), Type.Null()], {
    description:
      "zones that have endpoints afterwards, of the workload that is in fewest; null: nothing changes",
  }),
  headroomRatio: NullableNumber(
    "share of the busiest endpoint's CPU that is free afterwards, 0 or less: it is overloaded; null: unknown",
  ),
  isAdvised: Type.Boolean({ description: "it saves money, and no zone's endpoints starve" }),
  reason: NullableString("why it isn't advised, in words; null: it is"),
  services: Type.Array(Type.String(), {
    description: "whose trafficDistribution becomes PreferSameZone, as namespace/name",
  }),
  moves: Type.Array(MoveSchema, { description: "in the order in which they are to be made" }),
  commands: Type.Array(Type.String(), { description: "what carries it out; empty unless it is advised" }),
});

const LineSchema = Type.Object({
  kind: Type.Union([Type.Literal("workflow"), Type.Literal("service")]),
  namespace: Type.String(),
  name: Type.String(),
  workflow: Type.String({ description: "its name" }),
  perMonth: NullableNumber("what its traffic costs today; of a Service, what its callers pay; null: unknown"),
  roundTripMs: NullableNumber("mean of its requests today; null: unknown"),
  routing: OptionSchema,
  moves: OptionSchema,
  both: OptionSchema,
});

export const SavingsSchema = Type.Object(
  {
    observedAt: NullableString("when the graphs were built, RFC 3339; null: none was worked out yet"),
    currency: Type.String(),
    monthSeconds: Type.Number({ description: "length of the month that money is for: 730 hours" }),
    trouble: NullableString("why nothing is worked out, in words; null: it is"),
    lines: Type.Array(LineSchema, { description: "what saves most first" }),
    leftOut: Type.Integer({
      description: "workflows and Services that aren't looked at, or that ?limit= leaves out",
    }),
  },
  { $id: "Savings" },
);

export type Savings = Static<typeof SavingsSchema>;
export type SavingsLine = Static<typeof LineSchema>;
export type SavingsOption = Static<typeof OptionSchema>;

const DOCUMENT = "savings";
const schema = compiledLate(SavingsSchema);

/** Validates savings. Throws SnapshotError. */
export function parseSavings(json: unknown): Savings {
  checkSchema(DOCUMENT, schema, json);
  for (const [index, line] of json.lines.entries())
    checkFigures(DOCUMENT, `lines[${index}]`, line, ["perMonth", "roundTripMs"]);
  return json;
}
