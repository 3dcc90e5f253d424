export { LabClient, LabClientError } from "./lab-client.ts";
export { listLabs, readControlToken } from "./control-token.ts";
export type { RunningLab } from "./control-token.ts";
export type { LinkChange } from "./network/links.ts";
