// Proves the origin of records on a shared bus.
export { MacKey } from "./record-mac.ts";
export { RecordKeyClient } from "./record-key-client.ts";
export type { RecordKeyAnswer } from "./record-key-client.ts";
export { SealChecker } from "./seal-checker.ts";
export type { MasterKeys, SealFault } from "./seal-checker.ts";
export { sealedBus, sealedPublisher } from "./sealed-bus.ts";
export type { RecordKey } from "./sealed-bus.ts";
export { AGGREGATOR, SPEAKER_HEADER } from "./speaker.ts";
