// A public contract: extend, don't rename.
import { Type, type Static } from "typebox";
import { SnapshotError } from "../errors.ts";
import { checkSchema, compiledLate } from "../validation.ts";

const MAX_JOBS = 10_000;
const Amount = (description: string) => Type.Number({ minimum: 0, description });
const NullableAmount = (description: string) =>
  Type.Union([Type.Number({ minimum: 0 }), Type.Null()], { description });
const Text = Type.String({ maxLength: 4096 });

const StreamFlowSchema = Type.Object({
  from: Type.Union([Text, Type.Null()], { description: "name of the task that sends; null: the source" }),
  to: Text,
  bytesPerFrame: Amount("headers included"),
  bitsPerSecond: Amount("planned rate"),
  sentBitsPerSecond: NullableAmount("measured where it is sent; null: unknown"),
  route: Type.Array(Text, { description: "nodes from sender to receiver" }),
});

const StreamLimitSchema = Type.Union(
  [
    Type.Object({ kind: Type.Literal("task"), task: Text, node: Text }),
    Type.Object({ kind: Type.Literal("link"), source: Text, target: Text }),
    Type.Object({ kind: Type.Literal("source"), node: Text }),
    Type.Null(),
  ],
  { description: "what keeps the job from going faster; null: unknown" },
);

const StreamJobSchema = Type.Object({
  namespace: Text,
  name: Text,
  phase: Type.Union(
    [
      Type.Literal("Waiting"),
      Type.Literal("Placing"),
      Type.Literal("Running"),
      Type.Literal("Failed"),
      Type.Null(),
    ],
    { description: "null: nobody has looked at it yet" },
  ),
  framesPerSecond: NullableAmount("predicted; null: it has no nodes"),
  measuredFramesPerSecond: NullableAmount("by what its flows have sent; null: unknown"),
  minThroughput: NullableAmount("promised frames per second; null: none"),
  limit: StreamLimitSchema,
  waits: Type.Union([Type.Object({ reason: Text, message: Text }), Type.Null()], {
    description: "what is missing; null: nothing",
  }),
  tasks: Type.Array(
    Type.Object({ name: Text, node: Text, secondsPerFrame: NullableAmount("null: unknown") }),
  ),
  flows: Type.Array(StreamFlowSchema),
});

export const StreamJobListSchema = Type.Object(
  { jobs: Type.Array(StreamJobSchema, { maxItems: MAX_JOBS }) },
  { $id: "StreamJobList" },
);

const StreamLinkSchema = Type.Object({
  source: Text,
  target: Text,
  capacityBitsPerSecond: NullableAmount("null: unknown"),
  plannedBitsPerSecond: Amount("of all flows on it"),
  sentBitsPerSecond: NullableAmount("measured, of all flows on it; null: of one it is unknown"),
  flows: Type.Array(
    Type.Object({
      id: Text,
      bitsPerSecond: Amount("planned"),
      sentBitsPerSecond: NullableAmount("measured; null: unknown"),
    }),
  ),
});

export const StreamsSchema = Type.Object(
  {
    observedAt: Type.String({ format: "date-time" }),
    jobs: Type.Array(StreamJobSchema),
    links: Type.Array(StreamLinkSchema, { description: "links with planned flows, the fullest first" }),
  },
  { $id: "Streams" },
);

export type StreamJobView = Static<typeof StreamJobSchema>;
export type StreamLinkView = Static<typeof StreamLinkSchema>;
export type StreamsSnapshot = Static<typeof StreamsSchema>;

const DOCUMENT = "stream jobs";
const jobListSchema = compiledLate(StreamJobListSchema);
const streamsSchema = compiledLate(StreamsSchema);

/** Validates the document. Throws SnapshotError. */
export function parseStreams(json: unknown): StreamsSnapshot {
  const streams = json;
  checkSchema("streams", streamsSchema, streams);
  return streams;
}

/** Validates the document. Throws SnapshotError. */
export function parseStreamJobs(json: unknown): readonly StreamJobView[] {
  const list = json;
  checkSchema(DOCUMENT, jobListSchema, list);
  const names = new Set<string>();
  for (const [index, { namespace, name }] of list.jobs.entries()) {
    const key = `${namespace}/${name}`;
    if (names.has(key)) throw new SnapshotError(DOCUMENT, `jobs[${index}].name`, "must be unique", key);
    names.add(key);
  }
  return list.jobs;
}

export function streamFlowId(
  { namespace, name }: Pick<StreamJobView, "namespace" | "name">,
  { from, to }: Pick<StreamJobView["flows"][number], "from" | "to">,
): string {
  return `${namespace}/${name}/${from ?? "source"}->${to}`;
}
