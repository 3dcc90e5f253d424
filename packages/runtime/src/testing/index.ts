export { changeConstants } from "../settings/test-constants.ts";
export { ManualClock } from "./manual-clock.ts";
export { MemoryLogger } from "./memory-logger.ts";
export type { LogLine } from "./memory-logger.ts";
export { TestAuthority } from "./certificates.ts";
export type { TestCertificate } from "./certificates.ts";
