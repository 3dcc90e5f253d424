// What a tenant tries, what it is answered, and by that what it has really done. Whatever it is, the victim's
// picture stays the same.
import { DECLARATIONS } from "./declarations.ts";
import { PODS } from "./pods.ts";
import { REQUESTS } from "./requests.ts";
import type { Tenant } from "./tenant.ts";

export interface Attempt {
  readonly name: string;
  /** What is done; what was answered. */
  readonly act: (tenant: Tenant) => Promise<unknown>;
  /** What it is answered: an attempt that is refused at the door is another one than one that is taken. */
  readonly gets: unknown;
}

export const ATTEMPTS: readonly Attempt[] = [...DECLARATIONS, ...PODS, ...REQUESTS];
