// Without schemas, because the page loads it, too.
import type { Departures } from "../operation-schema.ts";
import type { ClusterNode } from "../schema.ts";

interface DepartureWords {
  readonly arrow: string;
  timeOf(at: string): string;
}

/** A sentence about one pair of nodes, or about most pairs (`pair` null). */
interface DepartureText {
  readonly text: string;
  readonly pair: { readonly source: string; readonly target: string } | null;
}

export function departureTexts({ pairs, common }: Departures, words: DepartureWords): DepartureText[] {
  return [
    ...common.map(({ kind, since, pairs: above, all }) => ({
      text: `${above} of ${all} pairs of nodes ${COMMON[kind]} since ${words.timeOf(since)}: the machines, or the whole network`,
      pair: null,
    })),
    ...pairs.map((one) => ({
      text: `${one.source} ${words.arrow} ${one.target}${changeOf(one)} since ${words.timeOf(one.since)}, ${beforeOf(one)} before; ${useOf(one)}`,
      pair: { source: one.source, target: one.target },
    })),
  ];
}

type Departed = Departures["pairs"][number];

const COMMON = { latency: "are slower than before", loss: "lose more packets than before" } as const;

function changeOf({ kind, now }: Departed): string {
  return kind === "latency" ? `: ${figure(now)} ms` : ` loses ${figure(100 * now)} % of packets`;
}

function beforeOf({ kind, before }: Departed): string {
  return kind === "latency" ? figure(before) : `${figure(100 * before)} %`;
}

function useOf({ workloads }: Departed): string {
  if (workloads.length === 0) return "nothing talks over it";
  return `${workloads.join(", ")} ${workloads.length === 1 ? "talks" : "talk"} over it`;
}

/** Formats a figure with two digits, the precision of a window's median. */
function figure(value: number): string {
  return value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}

export type NodeDown = NonNullable<ClusterNode["down"]>;

/**
 * For example `a is not ready since 14:12:37; its pods started elsewhere`.
 * @param timeText formats an RFC 3339 time; unchanged by default
 */
export function downText(
  node: string,
  { cause, since, pods, podsNotRunning }: Omit<NodeDown, "text">,
  timeText: (at: string) => string = (at) => at,
): string {
  const when = since === null ? "" : ` since ${timeText(since)}`;
  if (cause === "silent") return `${node} is silent${when}: none of its peers gets an answer`;
  return `${node} is not ready${when}${podsText(pods, podsNotRunning)}`;
}

function podsText(pods: number | null, podsNotRunning: number | null): string {
  if (pods === null || podsNotRunning === null) return "";
  if (pods === 0) return "; it had no pods to start elsewhere";
  if (podsNotRunning === 0) return `; its ${pods === 1 ? "pod" : "pods"} started elsewhere`;
  return pods === 1
    ? "; its pod is not running yet"
    : `; ${podsNotRunning} of its ${pods} pods are not running yet`;
}
