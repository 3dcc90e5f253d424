// What speaks to a running lab, without the lab: a command that asks one question starts no emulator.
export { LabClient, LabClientError } from "./lab-client.ts";
export { readControlToken } from "./control-token.ts";
export type { LinkChange } from "./network/links.ts";
