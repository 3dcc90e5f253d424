import type { Tenant } from "./tenant.ts";

export interface Attempt {
  readonly name: string;
  /** What is done; what was answered. */
  readonly act: (tenant: Tenant) => Promise<unknown>;
  /** What it is answered: an attempt that is refused at the door is another one than one that is taken. */
  readonly gets: unknown;
}
