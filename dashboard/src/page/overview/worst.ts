import { milliseconds, percent, plural } from "../model/format.ts";
import type { Place, View } from "../model/route.ts";
import type { Finding } from "../health/health-model.ts";
import { departureTexts } from "@isochrone/topology/findings";
import type { Departures } from "@isochrone/topology";
import type { Summary, WorstPair } from "../model/summary.ts";

export interface Concern {
  readonly level: "bad" | "warn";
  readonly title: string;
  readonly next: string;
  readonly to: { readonly place: Place; readonly view?: Partial<View> };
}

export interface Gain {
  readonly workflow: { readonly namespace: string; readonly name: string };
  readonly todayMs: number;
  readonly bestMs: number;
  readonly allTodayMs: number;
  readonly allBestMs: number;
  readonly moves: number;
  readonly blocked: number;
  readonly errorRatio: number;
}

export interface Known {
  readonly summary: Pick<Summary, "dead" | "lossy" | "lossiest">;
  readonly worst: readonly Pick<WorstPair, "source" | "target" | "isDead">[];
  readonly down: readonly string[];
  readonly findings: readonly Finding[];
  /** Deviations from the baseline; null: not reported. */
  readonly departures: Departures | null;
  readonly timeOf: (at: string) => string;
  readonly gain: Gain | null;
  readonly requests: { readonly answered: number; readonly failed: number } | null;
}

const MOST = 3;
/** Minimum gains worth mentioning: relative, and in ms. */
const WORTH_RATIO = 0.1;
const WORTH_MS = 1;

/** At most three, worst first; empty: no known concern. */
export function worstOf(known: Known): Concern[] {
  const { summary, worst, down, findings, gain, requests } = known;
  const concerns: Concern[] = [];
  if (down.length > 0)
    concerns.push({
      level: "bad",
      title: down.length <= MOST ? down.join(". ") : `${down.length} nodes are down: ${down[0]!}`,
      next: "Pairs of a node that is down are left out. See its kubelet, its power and its network.",
      to: { place: { page: "health" } },
    });
  if (requests !== null && requests.failed > 0)
    concerns.push({
      level: "bad",
      title: `${requests.failed} of the last ${plural(requests.answered + requests.failed, "request")} failed`,
      next: "See in the workflow whether pods are being replaced, or can't reach each other.",
      to: { place: { page: "workflows", workflow: null } },
    });
  if (summary.dead > 0) concerns.push(silence(summary.dead, worst.find(({ isDead }) => isDead) ?? null));
  concerns.push(...changes(known), ...losses(known));
  if (gain !== null && isWorth(gain))
    concerns.push({
      level: "warn",
      title: gainTitle(gain),
      next: `See the ${plural(gain.moves, "move")}, and the command that makes them.`,
      to: { place: { page: "workflows", workflow: gain.workflow } },
    });
  // At equal severity, findings about instruments come after their results.
  for (const { level, title, remedy } of findings)
    concerns.push({ level, title, next: remedy, to: { place: { page: "health" } } });
  const order = { bad: 0, warn: 1 } as const;
  return concerns.sort((a, b) => order[a.level] - order[b.level]).slice(0, MOST);
}

function changes({ departures, timeOf }: Known): Concern[] {
  if (departures === null) return [];
  return departureTexts(departures, { arrow: "↔", timeOf })
    .slice(0, MOST)
    .map(({ text, pair }) => ({
      level: "warn",
      title: text,
      next:
        pair === null
          ? "See on the Health page whether the probes' nodes are busy."
          : "Open the pair: its history, and whether both directions changed.",
      to: { place: pair === null ? { page: "health" } : { page: "pair", ...pair } },
    }));
}

function losses({ summary: { lossy, lossiest }, departures }: Known): Concern[] {
  if (lossiest === null || (departures?.counts.loss ?? 0) > 0) return [];
  const { source, target, ratio } = lossiest;
  const first = `${source} → ${target} lost ${percent(ratio)} of the newest packets`;
  return [
    {
      level: "warn",
      title: lossy === 1 ? first : `${lossy} pairs of nodes lose packets: ${first}`,
      next: "Open the pair. In the matrix by loss, see whether such pairs share a node or a zone.",
      to: { place: { page: "pair", source, target } },
    },
  ];
}

function silence(pairs: number, one: Known["worst"][number] | null): Concern {
  const level = "bad";
  if (one === null)
    return {
      level,
      title: `${plural(pairs, "pair")} of nodes without an answer`,
      next: "See in the matrix which ones, and whether they share a node or a zone.",
      to: { place: { page: "network", view: "matrix" }, view: { quantity: "loss" } },
    };
  const { source, target } = one;
  return {
    level,
    title:
      pairs === 1
        ? `${source} gets no answer from ${target}`
        : `${plural(pairs, "pair")} of nodes without an answer, such as ${source} → ${target}`,
    next: "Open the pair: since when, and whether the way back works.",
    to: { place: { page: "pair", source, target } },
  };
}

/** A request waits for the chain; a plan may only shorten other calls. */
function gainTitle({ workflow: { name }, todayMs, bestMs, allTodayMs, allBestMs }: Gain): string {
  return isLess(todayMs, bestMs)
    ? `The slowest chain of calls of ${name} takes ${milliseconds(todayMs)} on the network; ${milliseconds(bestMs)} would do`
    : `All calls of a request of ${name} take ${milliseconds(allTodayMs)} together; ${milliseconds(allBestMs)} would do`;
}

function isWorth({ todayMs, bestMs, allTodayMs, allBestMs }: Gain): boolean {
  return isLess(todayMs, bestMs) || isLess(allTodayMs, allBestMs);
}

const isLess = (today: number, best: number): boolean =>
  today - best >= WORTH_MS && today - best >= WORTH_RATIO * today;
