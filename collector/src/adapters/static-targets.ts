import { TARGET_KINDS, type Target, type TargetSource } from "../ports/ports.ts";

export const STATIC_TARGET: RegExp = new RegExp(`(${TARGET_KINDS.join("|")})=(https?://\\S+)`);

const SETTING = "collector.staticTargets";

/** The rule that an entry breaks, with the entry; null if all are valid. */
export function staticTargetsRule(entries: readonly string[]): string | null {
  for (const [at, entry] of entries.entries()) {
    const rule = entries.indexOf(entry) < at ? "must name each page once" : brokenRule(entry);
    if (rule !== null) return `${SETTING} ${rule}, got ${shownEntry(entry)}`;
  }
  return null;
}

function brokenRule(entry: string): string | null {
  const [, , address] = parts(entry);
  if (address === undefined) return `must be kind=url with kind one of ${TARGET_KINDS.join(", ")}`;
  if (!URL.canParse(address)) return "must have a URL with a host and a port of 1 to 65535";
  const url = new URL(address);
  if (url.port === "0") return "must have a port of 1 to 65535";
  if (url.username !== "" || url.password !== "")
    return "must have a URL without user and password, which would be in logs";
  return url.hash === "" ? null : "must have a URL without a fragment, which no server sees";
}

function parts(entry: string): readonly (string | undefined)[] {
  return new RegExp(`^${STATIC_TARGET.source}$`).exec(entry) ?? [];
}

function shownEntry(entry: string): string {
  return JSON.stringify(entry.replace(/\/\/[^/@]*@/, "//...@"));
}

/** Throws RangeError naming entry and rule. */
export function staticTargets(entries: readonly string[]): TargetSource {
  const mistake = staticTargetsRule(entries);
  if (mistake !== null) throw new RangeError(mistake);
  const targets = entries.flatMap((entry): Target[] => {
    const [, named, url] = parts(entry);
    const kind = TARGET_KINDS.find((known) => known === named);
    if (kind === undefined || url === undefined) return [];
    const kubelet = (kind === "cadvisor" || kind === "resource") && url.startsWith("https:");
    return [{ kind, url, instance: url, ...(kubelet ? { access: "kubelet" } : {}) }];
  });
  return { targets: () => targets };
}

export function joinTargets(sources: readonly TargetSource[]): TargetSource {
  return { targets: () => sources.flatMap((source) => source.targets()) };
}
