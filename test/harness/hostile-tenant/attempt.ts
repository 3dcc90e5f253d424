import type { Tenant } from "./tenant.ts";

export interface Attempt {
  readonly name: string;
  readonly act: (tenant: Tenant) => Promise<unknown>;
  /** Expected response. A rejected attempt tests something else than an accepted one. */
  readonly gets: unknown;
}
