export { byDeadline, byLeastRequest } from "./choose.ts";
export type { Candidate, EndpointChoice } from "./choose.ts";
export { EndpointLoad, type LoadReport } from "./endpoint-load.ts";
export { WorkTime } from "./work-time.ts";
