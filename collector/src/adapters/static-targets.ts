import type { Target, TargetSource } from "../ports.ts";

/** Targets from the setting collector.staticTargets (`kind=url`). Throws RangeError naming the entry and the rule. */
export function staticTargets(entries: readonly string[]): TargetSource {
  const targets = entries.map(parse);
  return { targets: () => targets };
}

function parse(entry: string): Target {
  const [, kind, url] = /^(cadvisor|istio)=(https?:\/\/.+)$/.exec(entry) ?? [];
  if (kind === undefined || url === undefined || !URL.canParse(url))
    throw new RangeError(
      `collector.staticTargets must be kind=url with kind cadvisor or istio, got ${JSON.stringify(entry)}`,
    );
  return { kind: kind as Target["kind"], url, instance: url };
}

/** Several sources as one. */
export function joinTargets(sources: readonly TargetSource[]): TargetSource {
  return { targets: () => sources.flatMap((source) => source.targets()) };
}
