import { Type } from "typebox";

const Rate = (description: string) => Type.Number({ minimum: 0, maximum: 1e18, description });

/** What network managers let through. Mean of the window, of all flows from the source to the target. */
export const ChannelFlowSchema = Type.Object(
  {
    allowedBitsPerSecond: Rate("their ceilings, headers included"),
    achievedBitsPerSecond: Rate("what the sending nodes sent, headers included"),
    droppedPacketsPerSecond: Rate("packets for which the queue of the sending node had no room"),
  },
  { $id: "ChannelFlow" },
);
