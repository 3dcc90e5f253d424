import { Type, type Static } from "typebox";

const Rate = (description: string) => Type.Number({ minimum: 0, maximum: 1e18, description });

export const ChannelFlowSchema = Type.Object(
  {
    allowedBitsPerSecond: Rate("their ceilings, headers included"),
    achievedBitsPerSecond: Rate("what the sending nodes sent, headers included"),
    droppedPacketsPerSecond: Rate("packets for which the queue of the sending node had no room"),
  },
  { $id: "ChannelFlow" },
);

const BytesPerSecond = Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
  description: "null: no source counts bytes",
});

const OutsideFlowSchema = Type.Object(
  {
    workload: Type.String({ description: "one of the workflow's own" }),
    destination: Type.String({
      description:
        "name of the range that the addresses are in (internet and private: of none), or of another cluster; unknown: the source of the figures doesn't know the far end",
    }),
    sentBytesPerSecond: BytesPerSecond,
    receivedBytesPerSecond: BytesPerSecond,
    sentRequestsPerSecond: Type.Optional(
      Type.Number({ minimum: 0, description: "requests of the workload; absent: no source counts them" }),
    ),
    receivedRequestsPerSecond: Type.Optional(
      Type.Number({ minimum: 0, description: "requests to the workload; absent: no source counts them" }),
    ),
    countedBy: Type.String({ description: "whose figures these are" }),
    ageSeconds: Type.Union([Type.Number(), Type.Null()], { description: "age of the newest sample" }),
  },
  { $id: "OutsideFlow" },
);

/** Traffic between workloads and the outside, which placement ignores. */
export const OutsideFlowsSchema = Type.Array(OutsideFlowSchema, {
  description: "traffic with the outside of the cluster; absent: none is counted",
});

export type OutsideFlow = Static<typeof OutsideFlowSchema>;
