export { changeConstants } from "../settings/test-constants.ts";
export { ManualClock } from "./manual-clock.ts";
export { MemoryLogger } from "./memory-logger.ts";
export type { LogLine } from "./memory-logger.ts";
export { TestAuthority } from "./certificates.ts";
export type { TestCertificate } from "./certificates.ts";
export { failEachPart, mistakesOf, PART_FAULTS } from "./failing-parts.ts";
export type { PartFailure } from "./failing-parts.ts";
