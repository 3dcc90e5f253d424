// Who says what, proven on a bus that others may write to as well.
export { MAC_HEADER, MacKey } from "./record-mac.ts";
export { RecordKeyClient } from "./record-key-client.ts";
export type { RecordKeyAnswer, RecordKeyClientOptions } from "./record-key-client.ts";
export { SEAL_FAULTS, SealChecker } from "./seal-checker.ts";
export type { MasterKeys, SealCheckerOptions, SealFault } from "./seal-checker.ts";
export { sealedBus, sealedPublisher, sealRecord } from "./sealed-bus.ts";
export type { RecordKey, RecordKeySource } from "./sealed-bus.ts";
export { AGGREGATOR, SPEAKER_HEADER } from "./speaker.ts";
