import type { Act } from "@isochrone/topology";
import type { ActFilter } from "../model/route.ts";

export type { ActFilter };

const MOST = 200;

export const SPANS: Readonly<Record<string, number>> = {
  "15m": 900,
  "1h": 3_600,
  "6h": 21_600,
  "24h": 86_400,
};

export function isFiltered(filter: ActFilter | undefined): boolean {
  return filter !== undefined && Object.keys(filter).length > 0;
}

export function actsPath(filter: ActFilter | undefined): string {
  const { namespace, workload, kind, within } = filter ?? {};
  const query = new URLSearchParams();
  if (namespace !== undefined) query.set("namespace", namespace);
  if (workload !== undefined) query.set("workload", workload);
  if (kind !== undefined) query.set("kind", kind);
  const seconds = within === undefined ? undefined : SPANS[within];
  if (seconds !== undefined) query.set("withinSeconds", String(seconds));
  query.set("limit", String(MOST));
  return `api/v1/acts?${query.toString()}`;
}

export function withPart(
  filter: ActFilter | undefined,
  name: keyof ActFilter,
  value: string,
): ActFilter | undefined {
  const { [name]: _, ...rest } = filter ?? {};
  const next = value === "" ? rest : { ...rest, [name]: value };
  return Object.keys(next).length === 0 ? undefined : next;
}

export function nodesOf({ pods }: Pick<Act, "pods">, side: "from" | "to"): string[] {
  return [...new Set(pods.flatMap((pod) => pod[side] ?? []))];
}

/** The sentence's text after its verdict; empty: none. */
export function sentenceWithout(verdict: Act["verdict"], sentence: string): string {
  const word = verdict.replaceAll("_", " ");
  if (!sentence.toLowerCase().startsWith(word)) return sentence;
  const rest = sentence.slice(word.length).replace(/^[:.,]\s*/, "");
  return rest === "" ? "" : rest[0]!.toUpperCase() + rest.slice(1);
}

export function badgeOfVerdict(verdict: Act["verdict"]): string {
  if (verdict === "kept") return "good";
  if (verdict === "failed") return "bad";
  return verdict === "missed" ? "warn" : "placement";
}
