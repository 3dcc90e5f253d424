// Exports for other packages' tests.
export { StandIn } from "../cluster/controllers/stand-in.ts";
export { nodeObject } from "../cluster/kubelet/node-object.ts";
export { podStatus } from "../cluster/kubelet/pod-status.ts";
export type { LinkChange } from "../network/links.ts";
export type { PairRecord } from "../network/record.ts";
export { defaultMatrix, parseMatrix } from "../network/matrix-file.ts";
export { readControlToken } from "../control-token.ts";
export { LabClient } from "../lab-client.ts";
export type { WirePacket } from "../namespaces/record.ts";
export { ReplicaSets } from "../cluster/controllers/replica-sets.ts";
export { sites, threeServices } from "../cluster/testing/builders.ts";
export { DirectNetwork } from "../cluster/testing/direct-network.ts";
