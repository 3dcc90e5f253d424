// Detects several aggregators annotating the same objects: by their marks, and by what the queried one leaves
// to another.
import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { ANNOTATED_BY, readMark } from "@isochrone/topology";
import type { WriterMark } from "@isochrone/topology";
import { NAME_A_CLUSTER, NAME_A_SERVER, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";
import { samplesOf } from "./sources.ts";

export interface Annotator extends WriterMark {
  readonly example: string;
}

interface AnnotatorFacts {
  /** The aggregator's /metrics; null: none was named. */
  readonly page: { readonly url: string; readonly text: string | null; readonly error: string | null } | null;
  /** Currently annotating aggregators, sorted by name; null: no cluster, see `why`. */
  readonly writers: readonly Annotator[] | null;
  readonly why: string;
}

const YIELDED = "isochrone_aggregator_annotations_yielded";
const SHOWN = 5;

export async function lookAtAnnotators(store: ClusterStore, nowMs: number): Promise<Annotator[]> {
  const kinds = [KINDS.node, KINDS.deployment, KINDS.statefulSet, KINDS.daemonSet];
  const writers = new Map<string, Annotator>();
  for (const kind of kinds) {
    for (const object of (await store.list(kind, { metadataOnly: true })).items) {
      const mark = readMark(object.metadata.annotations?.[ANNOTATED_BY], nowMs);
      if (mark === null || mark.atMs <= (writers.get(mark.name)?.atMs ?? -Infinity)) continue;
      writers.set(mark.name, { ...mark, example: nameOf(kind.kind, object) });
    }
  }
  return [...writers.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function judgeAnnotators({ page, writers, why }: AnnotatorFacts): Verdict {
  const parts = {
    check: "annotations' writer",
    looked: `${ANNOTATED_BY} of nodes and workloads; ${YIELDED}${page === null ? "" : ` at ${page.url}`}`,
    rule: "one aggregator annotates",
    remedy:
      "Uninstall one aggregator, or set annotations.nodes and annotations.workloads to false in the settings of the one that should not annotate (docs/annotations.md, Who writes).",
  };
  const text = page?.text ?? null;
  if (writers === null && text === null) {
    const first = page === null ? "no server is named" : (page.error ?? "no answer");
    return skipped({ ...parts, why: `${first}, and ${why}`, remedy: `${NAME_A_CLUSTER} ${NAME_A_SERVER}` });
  }
  const found = rivals(text, writers ?? []);
  const one = writers?.[0]?.name;
  const fine = one === undefined ? "no object is left to another aggregator" : `${one} alone`;
  return verdict(found.length === 0, "warning", {
    ...parts,
    value: found.length === 0 ? fine : found.join("; "),
  });
}

/** Evidence of several annotating aggregators; empty for one. */
function rivals(text: string | null, writers: readonly Annotator[]): string[] {
  const left = text === null ? [] : samplesOf(text, YIELDED).filter(({ value }) => value > 0);
  const isNamed = writers.length > 1 || (left.length > 0 && writers.length > 0);
  return [
    ...(left.length === 0 ? [] : [`this aggregator leaves to another one ${left.map(countText).join(", ")}`]),
    ...(isNamed
      ? [`who annotates: ${writers.slice(0, SHOWN).map(annotatorText).join("; ")}${more(writers.length)}`]
      : []),
  ];
}

function countText({ labels, value }: { labels: string; value: number }): string {
  const kind = /kind="([^"]*)"/.exec(labels)?.[1] ?? "object";
  return `${value} of kind ${kind}`;
}

function annotatorText({ name, sinceMs, atMs, example }: Annotator): string {
  return `${name}, which runs since ${new Date(sinceMs).toISOString()} and wrote ${example} at ${new Date(atMs).toISOString()}`;
}

function more(count: number): string {
  return count > SHOWN ? `; and ${count - SHOWN} more` : "";
}

function nameOf(kind: string, { metadata: { namespace, name } }: KubernetesObject): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
