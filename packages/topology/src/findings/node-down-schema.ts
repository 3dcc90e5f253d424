import { Type } from "typebox";

const NullableCount = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description });

export const NodeDownSchema = Type.Object(
  {
    cause: Type.Union([Type.Literal("not_ready"), Type.Literal("silent")], {
      description: "not_ready: its condition Ready isn't True; silent: it is, and no probe reaches it",
    }),
    since: Type.Union([Type.String(), Type.Null()], {
      description:
        "RFC 3339: last transition of the condition Ready, or the last answer of a silent node; null: not known",
    }),
    pods: NullableCount("pods on it when it went down that a controller replaces; null: not known"),
    podsNotRunning: NullableCount("how many of them don't run on another node yet; null: not known"),
    text: Type.String({ description: "the same in words" }),
  },
  { description: "absent: the node is up, or nothing is known of it" },
);
