// What tests of other packages use.
export type { LinkChange } from "../network/links.ts";
export type { PairRecord } from "../network/record.ts";
export { parseMatrix } from "../network/matrix-file.ts";
export { readControlToken } from "../control-token.ts";
export { LabClient } from "../lab-client.ts";
export type { WirePacket } from "../namespaces/record.ts";
export { ReplicaSets } from "../cluster/controllers/replica-sets.ts";
export { sites, threeServices } from "../cluster/testing/builders.ts";
export { DirectNetwork } from "../cluster/testing/direct-network.ts";
