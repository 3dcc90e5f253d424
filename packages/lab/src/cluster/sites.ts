import { SiteError } from "./errors.ts";
import type { Site } from "./ports.ts";

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export function checkSites(sites: readonly Site[]): void {
  if (sites.length === 0) throw new SiteError("a cluster needs at least one site, got none");
  const seen = new Set<string>();
  for (const { name, cpuMillicores, memoryBytes } of sites) {
    if (!NAME.test(name)) throw new SiteError(`site name must be a lower-case DNS name, got "${name}"`);
    if (seen.has(name)) throw new SiteError(`site names must be unique, got "${name}" twice`);
    seen.add(name);
    for (const [field, value] of Object.entries({ cpuMillicores, memoryBytes }))
      if (!Number.isSafeInteger(value) || value <= 0)
        throw new SiteError(`site "${name}": ${field} must be a positive integer, got ${value}`);
  }
}
