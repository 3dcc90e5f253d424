import { TARGET_KINDS, type Target, type TargetSource } from "../ports/ports.ts";

/** An entry of collector.staticTargets. */
export const STATIC_TARGET: RegExp = new RegExp(`(${TARGET_KINDS.join("|")})=(https?://\\S+)`);

/**
 * Targets from the setting collector.staticTargets (`kind=url`). Throws RangeError naming the entry and the
 * rule.
 */
export function staticTargets(entries: readonly string[]): TargetSource {
  const targets = entries.map(parse);
  return { targets: () => targets };
}

function parse(entry: string): Target {
  const [, named, url] = new RegExp(`^${STATIC_TARGET.source}$`).exec(entry) ?? [];
  const kind = TARGET_KINDS.find((known) => known === named);
  if (kind === undefined || url === undefined || !URL.canParse(url))
    throw new RangeError(
      `collector.staticTargets must be kind=url with kind one of ${TARGET_KINDS.join(", ")}, got ${JSON.stringify(entry)}`,
    );
  const kubelet = (kind === "cadvisor" || kind === "resource") && url.startsWith("https:");
  return { kind, url, instance: url, ...(kubelet ? { access: "kubelet" } : {}) };
}

/** Several sources as one. */
export function joinTargets(sources: readonly TargetSource[]): TargetSource {
  return { targets: () => sources.flatMap((source) => source.targets()) };
}
