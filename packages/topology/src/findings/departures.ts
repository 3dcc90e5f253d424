// One sentence for each pair of nodes that is slower than it was, or loses more packets. Without schemas: the
// page has it, too.
import type { Departures } from "../operation-schema.ts";

/** How a place writes times and pairs. */
interface DepartureWords {
  /** Between two nodes. */
  readonly arrow: string;
  /** Writes an RFC 3339 time. */
  timeOf(at: string): string;
}

/** A sentence, and the pair that it is about; null: it is about most pairs. */
interface DepartureText {
  readonly text: string;
  readonly pair: { readonly source: string; readonly target: string } | null;
}

/** One sentence each: first about most pairs at once, then about single pairs, the largest increase first. */
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

/** Two digits are what a window's median is worth; whole numbers from 10 on. */
function figure(value: number): string {
  return value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}
